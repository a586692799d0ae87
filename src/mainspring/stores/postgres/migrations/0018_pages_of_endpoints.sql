-- Pages of a job's endpoints, and of archived ones, begin where the last page ended.
DROP INDEX endpoint_by_job;
CREATE INDEX endpoint_by_job ON endpoint (job_id, name, id);
CREATE INDEX endpoint_archived ON endpoint (tenant_id, name, id) WHERE archived_at IS NOT NULL;
