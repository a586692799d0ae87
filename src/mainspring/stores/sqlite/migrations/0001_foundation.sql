-- The schedule, its history and its surroundings. Instants are microseconds since 1970, UTC.
CREATE TABLE installation (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE tenant (
    id               TEXT PRIMARY KEY,
    name             TEXT NOT NULL,
    runs_per_month   INTEGER CHECK (runs_per_month >= 0),
    tokens_per_month INTEGER CHECK (tokens_per_month >= 0),
    endpoints_max    INTEGER CHECK (endpoints_max >= 0),
    interval_ms_min  INTEGER CHECK (interval_ms_min >= 0)
) STRICT;

CREATE TABLE signing_key (
    id         TEXT PRIMARY KEY,
    tenant_id  TEXT NOT NULL REFERENCES tenant (id),
    sealed     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX signing_key_by_tenant ON signing_key (tenant_id, created_at);

-- One row per worker, so that two workers never wait for each other to count.
CREATE TABLE usage (
    tenant_id TEXT NOT NULL,
    month     TEXT NOT NULL,
    worker    TEXT NOT NULL,
    runs      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, month, worker)
) STRICT;

CREATE TABLE job (
    id          TEXT PRIMARY KEY,
    tenant_id   TEXT NOT NULL REFERENCES tenant (id),
    name        TEXT NOT NULL,
    description TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('active', 'paused', 'archived')),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    UNIQUE (tenant_id, name)
) STRICT;

CREATE TABLE endpoint (
    id              TEXT PRIMARY KEY,
    tenant_id       TEXT NOT NULL REFERENCES tenant (id),
    job_id          TEXT NOT NULL REFERENCES job (id),
    name            TEXT NOT NULL,
    description     TEXT NOT NULL,
    action          TEXT NOT NULL,
    host            TEXT NOT NULL,
    cron            TEXT,
    interval_ms     INTEGER CHECK (interval_ms BETWEEN 100 AND 31622400000),
    timezone        TEXT NOT NULL,
    min_interval_ms INTEGER CHECK (min_interval_ms BETWEEN 1000 AND 31622400000),
    max_interval_ms INTEGER CHECK (max_interval_ms BETWEEN 1000 AND 31622400000),
    backoff         TEXT NOT NULL CHECK (backoff IN ('default', 'monitor')),
    jitter_ms       INTEGER NOT NULL CHECK (jitter_ms >= 0),
    spread          INTEGER NOT NULL CHECK (spread IN (0, 1)),
    misfire         TEXT NOT NULL CHECK (misfire IN ('run_once', 'skip', 'catch_up')),
    catch_up_max    INTEGER NOT NULL CHECK (catch_up_max BETWEEN 1 AND 100),
    max_lateness_ms INTEGER CHECK (max_lateness_ms >= 0),
    on_lost_worker  TEXT NOT NULL CHECK (on_lost_worker IN ('retry', 'skip')),
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    version         INTEGER NOT NULL,
    archived_at     INTEGER,
    CHECK ((cron IS NULL) <> (interval_ms IS NULL)),
    CHECK (min_interval_ms <= max_interval_ms)
) STRICT;
CREATE UNIQUE INDEX endpoint_by_name ON endpoint (tenant_id, name) WHERE archived_at IS NULL;
CREATE INDEX endpoint_by_job ON endpoint (job_id);

-- What changes with every run, apart from what a user wrote: rows that are rewritten all day stay short.
CREATE TABLE schedule (
    id        TEXT PRIMARY KEY REFERENCES endpoint (id) ON DELETE CASCADE,
    tenant_id TEXT NOT NULL,
    host      TEXT NOT NULL,
    revision  INTEGER NOT NULL DEFAULT 0,  -- +1 with every write; what was read at it is still so

    job_active     INTEGER NOT NULL CHECK (job_active IN (0, 1)),
    parked_at      INTEGER,
    parked_reason  TEXT NOT NULL,
    paused_until   INTEGER,
    pause_reason   TEXT NOT NULL,
    deferred_until INTEGER,
    failure_count  INTEGER NOT NULL CHECK (failure_count >= 0),
    not_before     INTEGER,
    hint_interval_ms         INTEGER CHECK (hint_interval_ms BETWEEN 1000 AND 31622400000),
    hint_interval_expires_at INTEGER,
    hint_interval_reason     TEXT NOT NULL,
    hint_interval_author     TEXT NOT NULL,
    hint_one_shot_at         INTEGER,
    hint_one_shot_expires_at INTEGER,
    hint_one_shot_reason     TEXT NOT NULL,
    hint_one_shot_author     TEXT NOT NULL,
    anchor_at   INTEGER NOT NULL,
    next_run_at INTEGER,
    source      TEXT NOT NULL,
    trail       TEXT NOT NULL,
    manual_at   INTEGER,
    slot_at     INTEGER,
    trigger     TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    claim_epoch INTEGER NOT NULL,
    lease_until INTEGER,
    claimed_by  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    lost_count  INTEGER NOT NULL,
    last_run_at INTEGER,
    last_status TEXT NOT NULL,

    -- When a worker may reach for it: when its lease is over, or when it is due or asked for.
    claimable_at INTEGER GENERATED ALWAYS AS
        (COALESCE(lease_until, MIN(manual_at, next_run_at), manual_at, next_run_at)) VIRTUAL,
    hint_expires_at INTEGER GENERATED ALWAYS AS
        (COALESCE(MIN(hint_interval_expires_at, hint_one_shot_expires_at),
                  hint_interval_expires_at, hint_one_shot_expires_at)) VIRTUAL,

    CHECK ((hint_interval_ms IS NULL) = (hint_interval_expires_at IS NULL)),
    CHECK ((hint_one_shot_at IS NULL) = (hint_one_shot_expires_at IS NULL)),
    CHECK (hint_one_shot_at <= hint_one_shot_expires_at)
) STRICT;
CREATE INDEX schedule_claimable ON schedule (tenant_id, claimable_at) WHERE claimable_at IS NOT NULL;
CREATE INDEX schedule_leased ON schedule (tenant_id, host) WHERE lease_until IS NOT NULL;
CREATE INDEX schedule_hinted ON schedule (hint_expires_at) WHERE hint_expires_at IS NOT NULL;

CREATE TABLE run (
    id           TEXT NOT NULL,
    tenant_id    TEXT NOT NULL,
    endpoint_id  TEXT NOT NULL,
    slot_at      INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    trigger      TEXT NOT NULL CHECK (trigger IN ('schedule', 'manual', 'test', 'catch-up', 'retry')),
    source       TEXT NOT NULL,
    status       TEXT NOT NULL CHECK (status IN ('running', 'success', 'failure', 'timeout', 'blocked', 'abandoned',
                                                 'superseded', 'unknown', 'missed')),
    started_at   INTEGER NOT NULL,
    claim_epoch  INTEGER,
    worker       TEXT NOT NULL,
    finished_at  INTEGER,
    duration_ms  INTEGER CHECK (duration_ms >= 0),
    status_code  INTEGER,
    error_code   TEXT,
    error        TEXT,
    missed_count INTEGER NOT NULL,
    trail        TEXT NOT NULL,
    detail       TEXT NOT NULL,
    body_type      TEXT NOT NULL DEFAULT '',
    body_truncated INTEGER NOT NULL DEFAULT 0,
    body_seen      INTEGER NOT NULL DEFAULT 0,
    body           BLOB,  -- last, so that a list never walks its overflow pages
    PRIMARY KEY (tenant_id, id)
) STRICT;
CREATE INDEX run_by_endpoint ON run (endpoint_id, id);

-- One row for all that a transaction has to tell a tenant, in its order.
CREATE TABLE event (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id TEXT NOT NULL,
    at        INTEGER NOT NULL,
    events    TEXT NOT NULL
) STRICT;

CREATE TABLE worker (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    places     INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) STRICT;
