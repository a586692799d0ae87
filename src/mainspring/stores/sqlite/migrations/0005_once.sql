-- An endpoint may run once, at a time, instead of by an interval or a cron expression.
ALTER TABLE endpoint ADD COLUMN once_at INTEGER;

-- See 0004: SQLite changes no constraint in place except like this.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK ((cron IS NULL) <> (interval_ms IS NULL))',
    'CHECK ((cron IS NOT NULL) + (interval_ms IS NOT NULL) + (once_at IS NOT NULL) = 1)')
WHERE type = 'table' AND name = 'endpoint';
PRAGMA writable_schema = RESET;
CREATE INDEX endpoint_by_time ON endpoint (once_at) WHERE once_at IS NOT NULL;
