-- Further attempts at a slot that failed, and the backoff `none`.
ALTER TABLE endpoint ADD COLUMN retry text COLLATE "C" NOT NULL DEFAULT '';  -- JSON; '': no retry
ALTER TABLE endpoint ADD COLUMN confirm text COLLATE "C";
ALTER TABLE schedule ADD COLUMN failed_attempts bigint NOT NULL DEFAULT 0;

-- Two lists of allowed words grow by one. NOT VALID: existing rows are not read, because they satisfy the shorter list.
ALTER TABLE endpoint DROP CONSTRAINT endpoint_backoff_check,
    ADD CONSTRAINT endpoint_backoff_check CHECK (backoff IN ('default', 'monitor', 'none')) NOT VALID;
ALTER TABLE run DROP CONSTRAINT run_status_check,
    ADD CONSTRAINT run_status_check
        CHECK (status IN ('running', 'success', 'failure', 'timeout', 'blocked', 'abandoned', 'retried', 'superseded',
                          'unknown', 'missed')) NOT VALID;
