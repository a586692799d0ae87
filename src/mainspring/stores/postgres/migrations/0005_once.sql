-- An endpoint may run once, at a time, instead of by an interval or a cron expression.
ALTER TABLE endpoint ADD COLUMN once_at timestamptz;
ALTER TABLE endpoint DROP CONSTRAINT endpoint_check,
    ADD CONSTRAINT endpoint_schedule_check CHECK (num_nonnulls(cron, interval_ms, once_at) = 1) NOT VALID;
CREATE INDEX endpoint_by_time ON endpoint (once_at) WHERE once_at IS NOT NULL;
