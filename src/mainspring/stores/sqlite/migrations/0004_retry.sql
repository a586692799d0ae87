-- Further attempts at a slot that failed, and the backoff `none`.
ALTER TABLE endpoint ADD COLUMN retry TEXT NOT NULL DEFAULT '';  -- JSON; '': no retry
ALTER TABLE endpoint ADD COLUMN confirm TEXT;
ALTER TABLE schedule ADD COLUMN failed_attempts INTEGER NOT NULL DEFAULT 0;

-- Two lists of allowed words grow by one. SQLite changes a constraint in place only like this, as its manual describes;
-- a copy of the table would take as long as there are runs.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''default'', ''monitor''', '''default'', ''monitor'', ''none''')
WHERE type = 'table' AND name = 'endpoint';
UPDATE sqlite_schema SET sql = replace(sql, '''superseded'', ''unknown''', '''retried'', ''superseded'', ''unknown''')
WHERE type = 'table' AND name = 'run';
PRAGMA writable_schema = RESET;
