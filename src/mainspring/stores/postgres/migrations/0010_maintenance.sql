-- Windows in which runs are skipped or not counted, and alerts are silent: by a cron, or once.
CREATE TABLE maintenance_window (
    id          text COLLATE "C" PRIMARY KEY,
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenant (id),
    name        text COLLATE "C" NOT NULL,
    cron        text COLLATE "C" NOT NULL,
    duration_ms bigint CHECK (duration_ms > 0),
    timezone    text COLLATE "C" NOT NULL,
    starts_at   timestamptz,
    ends_at     timestamptz,
    endpoint_id text COLLATE "C" NOT NULL,
    job_id      text COLLATE "C" NOT NULL,
    runs        text COLLATE "C" NOT NULL CHECK (runs IN ('continue', 'skip')),
    description text COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    managed_by  text COLLATE "C" NOT NULL DEFAULT '',
    UNIQUE (tenant_id, name),
    CHECK ((cron <> '' AND duration_ms IS NOT NULL AND starts_at IS NULL AND ends_at IS NULL)
        OR (cron = '' AND duration_ms IS NULL AND starts_at < ends_at))
);

-- One row: a version that grows with every change of a window.
CREATE TABLE maintenance_revision (
    id       bigint PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL
);

-- The window that was open during a run; such a run does not count.
ALTER TABLE run ADD COLUMN maintenance text COLLATE "C" NOT NULL DEFAULT '';
