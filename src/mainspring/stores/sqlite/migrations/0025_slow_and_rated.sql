-- How long the last run took, by which slow runs are told from quick ones; empty until an endpoint has run again.
ALTER TABLE schedule ADD COLUMN last_duration_ms INTEGER CHECK (last_duration_ms >= 0);

-- Up to when the starts of a host that has a rate are paid for; see domain/schedule/host_limit.py.
CREATE TABLE host_rate (
    host       TEXT PRIMARY KEY,
    paid_until INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
