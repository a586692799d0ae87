-- What was noticed about the clock, and which slots ran while it was ahead.
CREATE TABLE clock_report (
    id      text COLLATE "C" PRIMARY KEY,
    at      timestamptz NOT NULL,
    kind    text COLLATE "C" NOT NULL CHECK (kind IN ('step', 'skew', 'repair')),
    ms      bigint NOT NULL,  -- positive: ahead
    worker  text COLLATE "C" NOT NULL,
    changed bigint NOT NULL
);
CREATE INDEX clock_report_by_time ON clock_report (at);

-- From which tick on a partition counts from another instant than before; only where its clock was repaired.
CREATE TABLE partition_zero (
    partition bigint NOT NULL,
    from_tick bigint NOT NULL,
    zero_us   bigint NOT NULL,
    PRIMARY KEY (partition, from_tick)
);

ALTER TABLE schedule ADD COLUMN ran_from_at timestamptz;
ALTER TABLE schedule ADD COLUMN ran_until_at timestamptz;
