-- What was noticed about the clock, and which slots ran while it was ahead.
CREATE TABLE clock_report (
    id      TEXT PRIMARY KEY,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL CHECK (kind IN ('step', 'skew', 'repair')),
    ms      INTEGER NOT NULL,  -- positive: ahead
    worker  TEXT NOT NULL,
    changed INTEGER NOT NULL
) STRICT;
CREATE INDEX clock_report_by_time ON clock_report (at);

-- From which tick on a partition counts from another instant than before; only where its clock was repaired.
CREATE TABLE partition_zero (
    partition INTEGER NOT NULL,
    from_tick INTEGER NOT NULL,
    zero_us   INTEGER NOT NULL,
    PRIMARY KEY (partition, from_tick)
) STRICT;

ALTER TABLE schedule ADD COLUMN ran_from_at INTEGER;
ALTER TABLE schedule ADD COLUMN ran_until_at INTEGER;
