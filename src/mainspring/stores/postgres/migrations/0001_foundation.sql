-- The schedule, its history and its surroundings. Text that is compared or sorted uses the C collation: exact and fast.
CREATE TABLE installation (
    key   text COLLATE "C" PRIMARY KEY,
    value text COLLATE "C" NOT NULL
);

CREATE TABLE tenant (
    id               text COLLATE "C" PRIMARY KEY,
    name             text COLLATE "C" NOT NULL,
    runs_per_month   bigint CHECK (runs_per_month >= 0),
    tokens_per_month bigint CHECK (tokens_per_month >= 0),
    endpoints_max    bigint CHECK (endpoints_max >= 0),
    interval_ms_min  bigint CHECK (interval_ms_min >= 0)
);

CREATE TABLE signing_key (
    id         text COLLATE "C" PRIMARY KEY,
    tenant_id  text COLLATE "C" NOT NULL REFERENCES tenant (id),
    sealed     text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX signing_key_by_tenant ON signing_key (tenant_id, created_at);

-- One row per worker, so that two workers never wait for each other to count.
CREATE TABLE usage (
    tenant_id text COLLATE "C" NOT NULL,
    month     text COLLATE "C" NOT NULL,
    worker    text COLLATE "C" NOT NULL,
    runs      bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, month, worker)
);

CREATE TABLE job (
    id          text COLLATE "C" PRIMARY KEY,
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenant (id),
    name        text COLLATE "C" NOT NULL,
    description text COLLATE "C" NOT NULL,
    status      text COLLATE "C" NOT NULL CHECK (status IN ('active', 'paused', 'archived')),
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    UNIQUE (tenant_id, name)
);

CREATE TABLE endpoint (
    id              text COLLATE "C" PRIMARY KEY,
    tenant_id       text COLLATE "C" NOT NULL REFERENCES tenant (id),
    job_id          text COLLATE "C" NOT NULL REFERENCES job (id),
    name            text COLLATE "C" NOT NULL,
    description     text COLLATE "C" NOT NULL,
    action          text COLLATE "C" NOT NULL,
    host            text COLLATE "C" NOT NULL,
    cron            text COLLATE "C",
    interval_ms     bigint CHECK (interval_ms BETWEEN 100 AND 31622400000),
    timezone        text COLLATE "C" NOT NULL,
    min_interval_ms bigint CHECK (min_interval_ms BETWEEN 1000 AND 31622400000),
    max_interval_ms bigint CHECK (max_interval_ms BETWEEN 1000 AND 31622400000),
    backoff         text COLLATE "C" NOT NULL CHECK (backoff IN ('default', 'monitor')),
    jitter_ms       bigint NOT NULL CHECK (jitter_ms >= 0),
    spread          boolean NOT NULL,
    misfire         text COLLATE "C" NOT NULL CHECK (misfire IN ('run_once', 'skip', 'catch_up')),
    catch_up_max    bigint NOT NULL CHECK (catch_up_max BETWEEN 1 AND 100),
    max_lateness_ms bigint CHECK (max_lateness_ms >= 0),
    on_lost_worker  text COLLATE "C" NOT NULL CHECK (on_lost_worker IN ('retry', 'skip')),
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    version         bigint NOT NULL,
    archived_at     timestamptz,
    CHECK ((cron IS NULL) <> (interval_ms IS NULL)),
    CHECK (min_interval_ms <= max_interval_ms)
);
CREATE UNIQUE INDEX endpoint_by_name ON endpoint (tenant_id, name) WHERE archived_at IS NULL;
CREATE INDEX endpoint_by_job ON endpoint (job_id);

-- What changes with every run, apart from what a user wrote: rows that are rewritten all day stay short.
CREATE TABLE schedule (
    id        text COLLATE "C" PRIMARY KEY REFERENCES endpoint (id) ON DELETE CASCADE,
    tenant_id text COLLATE "C" NOT NULL,
    host      text COLLATE "C" NOT NULL,
    revision  bigint NOT NULL DEFAULT 0,  -- +1 with every write; what was read at it is still so

    job_active     boolean NOT NULL,
    parked_at      timestamptz,
    parked_reason  text COLLATE "C" NOT NULL,
    paused_until   timestamptz,
    pause_reason   text COLLATE "C" NOT NULL,
    deferred_until timestamptz,
    failure_count  bigint NOT NULL CHECK (failure_count >= 0),
    not_before     timestamptz,
    hint_interval_ms         bigint CHECK (hint_interval_ms BETWEEN 1000 AND 31622400000),
    hint_interval_expires_at timestamptz,
    hint_interval_reason     text COLLATE "C" NOT NULL,
    hint_interval_author     text COLLATE "C" NOT NULL,
    hint_one_shot_at         timestamptz,
    hint_one_shot_expires_at timestamptz,
    hint_one_shot_reason     text COLLATE "C" NOT NULL,
    hint_one_shot_author     text COLLATE "C" NOT NULL,
    anchor_at   timestamptz NOT NULL,
    next_run_at timestamptz,
    source      text COLLATE "C" NOT NULL,
    trail       text COLLATE "C" NOT NULL,
    manual_at   timestamptz,
    slot_at     timestamptz,
    trigger     text COLLATE "C" NOT NULL,
    attempt     bigint NOT NULL,
    claim_epoch bigint NOT NULL,
    lease_until timestamptz,
    claimed_by  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    lost_count  bigint NOT NULL,
    last_run_at timestamptz,
    last_status text COLLATE "C" NOT NULL,

    -- When a worker may reach for it: when its lease is over, or when it is due or asked for.
    claimable_at timestamptz GENERATED ALWAYS AS
        (COALESCE(lease_until, LEAST(manual_at, next_run_at))) STORED,
    hint_expires_at timestamptz GENERATED ALWAYS AS
        (LEAST(hint_interval_expires_at, hint_one_shot_expires_at)) STORED,

    CHECK ((hint_interval_ms IS NULL) = (hint_interval_expires_at IS NULL)),
    CHECK ((hint_one_shot_at IS NULL) = (hint_one_shot_expires_at IS NULL)),
    CHECK (hint_one_shot_at <= hint_one_shot_expires_at)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX schedule_claimable ON schedule (tenant_id, claimable_at) WHERE claimable_at IS NOT NULL;
CREATE INDEX schedule_leased ON schedule (tenant_id, host) WHERE lease_until IS NOT NULL;
CREATE INDEX schedule_hinted ON schedule (hint_expires_at) WHERE hint_expires_at IS NOT NULL;

CREATE TABLE run (
    id           text COLLATE "C" NOT NULL,
    tenant_id    text COLLATE "C" NOT NULL,
    endpoint_id  text COLLATE "C" NOT NULL,
    slot_at      timestamptz NOT NULL,
    attempt      bigint NOT NULL,
    trigger      text COLLATE "C" NOT NULL CHECK (trigger IN ('schedule', 'manual', 'test', 'catch-up', 'retry')),
    source       text COLLATE "C" NOT NULL,
    status       text COLLATE "C" NOT NULL CHECK (status IN ('running', 'success', 'failure', 'timeout', 'blocked', 'abandoned',
                                                 'superseded', 'unknown', 'missed')),
    started_at   timestamptz NOT NULL,
    claim_epoch  bigint,
    worker       text COLLATE "C" NOT NULL,
    finished_at  timestamptz,
    duration_ms  bigint CHECK (duration_ms >= 0),
    status_code  bigint,
    error_code   text COLLATE "C",
    error        text COLLATE "C",
    missed_count bigint NOT NULL,
    trail        text COLLATE "C" NOT NULL,
    detail       text COLLATE "C" NOT NULL,
    body_type      text COLLATE "C" NOT NULL DEFAULT '',
    body_truncated boolean NOT NULL DEFAULT false,
    body_seen      bigint NOT NULL DEFAULT 0,
    body           bytea,
    PRIMARY KEY (tenant_id, id)
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.05);  -- room to end a run in the page it started in
CREATE INDEX run_by_endpoint ON run (endpoint_id, id);

-- Commit order is not the order in which a sequence hands out numbers. A reader that goes by (tx, seq) and stops
-- before the oldest transaction still running never skips an event that is committed later under a lower number.
-- There is one row for all that a transaction has to tell a tenant, in its order.
CREATE TABLE event (
    tx        xid8 NOT NULL DEFAULT pg_current_xact_id(),
    seq       bigint GENERATED ALWAYS AS IDENTITY,
    tenant_id text COLLATE "C" NOT NULL,
    at        timestamptz NOT NULL,
    events    text COLLATE "C" NOT NULL,
    PRIMARY KEY (tx, seq)
);

CREATE TABLE worker (
    id         text COLLATE "C" PRIMARY KEY,
    kind       text COLLATE "C" NOT NULL,
    places     bigint NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL
);
