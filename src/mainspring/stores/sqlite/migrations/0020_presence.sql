-- Which processes are alive: one row for each kind of work that a process does.
DROP TABLE worker;
CREATE TABLE worker (
    id         TEXT NOT NULL,
    kind       TEXT NOT NULL,
    places     INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    PRIMARY KEY (id, kind)
) STRICT, WITHOUT ROWID;

-- The notifier that sends a delivery, so that it is sent again when that notifier is dead.
ALTER TABLE delivery ADD COLUMN worker TEXT NOT NULL DEFAULT '';
