-- Whether a rule of an endpoint is judged at runs of other endpoints of its job. A page then reads the rules of the
-- endpoints that ran, and those few. Existing rules count as such until they are written again.
ALTER TABLE rule ADD COLUMN reads_others boolean NOT NULL DEFAULT true;
CREATE INDEX rule_reads_others ON rule (tenant_id) WHERE reads_others;
