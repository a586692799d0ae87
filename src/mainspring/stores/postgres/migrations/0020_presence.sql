-- Which processes are alive: one row for each kind of work that a process does.
DROP TABLE worker;
CREATE TABLE worker (
    id         text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    places     bigint NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    PRIMARY KEY (id, kind)
) WITH (fillfactor = 50);  -- rewritten every second

-- The notifier that sends a delivery, so that it is sent again when that notifier is dead.
ALTER TABLE delivery ADD COLUMN worker text COLLATE "C" NOT NULL DEFAULT '';
