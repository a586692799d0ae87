-- Calls: endpoints with a single run that a program requested, each by a key. Lists of endpoints leave them out.
ALTER TABLE endpoint ADD COLUMN call_key text COLLATE "C";
CREATE UNIQUE INDEX endpoint_by_call_key ON endpoint (tenant_id, call_key) WHERE call_key IS NOT NULL;
CREATE INDEX endpoint_calls ON endpoint (tenant_id, id) WHERE call_key IS NOT NULL;
DROP INDEX endpoint_by_name;
CREATE UNIQUE INDEX endpoint_by_name ON endpoint (tenant_id, name) WHERE archived_at IS NULL AND call_key IS NULL;
