-- Whether a rule of an endpoint is judged at runs of other endpoints of its job. A page then reads the rules of the
-- endpoints that ran, and those few. Existing rules count as such until they are written again.
ALTER TABLE rule ADD COLUMN reads_others INTEGER NOT NULL DEFAULT 1 CHECK (reads_others IN (0, 1));
CREATE INDEX rule_reads_others ON rule (tenant_id) WHERE reads_others;
