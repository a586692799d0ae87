-- Windows in which runs are skipped or not counted, and alerts are silent: by a cron, or once.
CREATE TABLE maintenance_window (
    id          TEXT PRIMARY KEY,
    tenant_id   TEXT NOT NULL REFERENCES tenant (id),
    name        TEXT NOT NULL,
    cron        TEXT NOT NULL,
    duration_ms INTEGER CHECK (duration_ms > 0),
    timezone    TEXT NOT NULL,
    starts_at   INTEGER,
    ends_at     INTEGER,
    endpoint_id TEXT NOT NULL,
    job_id      TEXT NOT NULL,
    runs        TEXT NOT NULL CHECK (runs IN ('continue', 'skip')),
    description TEXT NOT NULL,
    version     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    managed_by  TEXT NOT NULL DEFAULT '',
    UNIQUE (tenant_id, name),
    CHECK ((cron <> '' AND duration_ms IS NOT NULL AND starts_at IS NULL AND ends_at IS NULL)
        OR (cron = '' AND duration_ms IS NULL AND starts_at < ends_at))
) STRICT;

-- One row: a version that grows with every change of a window.
CREATE TABLE maintenance_revision (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL
) STRICT;

-- The window that was open during a run; such a run does not count.
ALTER TABLE run ADD COLUMN maintenance TEXT NOT NULL DEFAULT '';
