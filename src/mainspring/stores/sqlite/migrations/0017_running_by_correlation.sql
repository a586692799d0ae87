-- Executions that run under a correlation key, found without going through those that ran under it and ended.
DROP INDEX execution_by_correlation;
CREATE INDEX execution_by_correlation ON execution (tenant_id, correlation, ended_us) WHERE correlation <> '';
