-- What a model may look at by its own description, without going through all that has none.
CREATE INDEX endpoint_described ON endpoint (id, job_id) WHERE description <> '' AND archived_at IS NULL;
