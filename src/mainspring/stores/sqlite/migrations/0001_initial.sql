-- The schedule, its history and related data. Times are microseconds since 1970, UTC.
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

-- One row per worker, so that workers never wait for each other to count.
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
    managed_by  TEXT NOT NULL DEFAULT '',  -- the configuration source that describes the job; '': none
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
    managed_by      TEXT NOT NULL DEFAULT '',  -- the configuration source that describes the endpoint; '': none
    advice          TEXT NOT NULL DEFAULT 'interval,run,wake,pause,siblings',  -- what advice may do to it
    CHECK ((cron IS NULL) <> (interval_ms IS NULL)),
    CHECK (min_interval_ms <= max_interval_ms)
) STRICT;
CREATE UNIQUE INDEX endpoint_by_name ON endpoint (tenant_id, name) WHERE archived_at IS NULL;
CREATE INDEX endpoint_by_job ON endpoint (job_id, name, id);
CREATE INDEX endpoint_archived ON endpoint (tenant_id, name, id) WHERE archived_at IS NOT NULL;
-- Endpoints that a model may analyse because they have a description, without a scan of all others.
CREATE INDEX endpoint_described ON endpoint (id, job_id) WHERE description <> '' AND archived_at IS NULL;

-- State that changes with every run, apart from the configuration: rows that are rewritten all day stay short.
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

    -- When a worker may claim it: when its lease ends, or when it is due or a run is requested.
    claimable_at INTEGER GENERATED ALWAYS AS
        (COALESCE(lease_until, MIN(manual_at, next_run_at), manual_at, next_run_at)) VIRTUAL,
    hint_expires_at INTEGER GENERATED ALWAYS AS
        (COALESCE(MIN(hint_interval_expires_at, hint_one_shot_expires_at),
                  hint_interval_expires_at, hint_one_shot_expires_at)) VIRTUAL,

    ran_from_at  INTEGER,  -- the slots that ran while the clock was ahead
    ran_until_at INTEGER,
    last_duration_ms INTEGER CHECK (last_duration_ms >= 0),  -- tells slow runs from quick ones
    pause_author      TEXT NOT NULL DEFAULT '',
    advice_may_resume INTEGER NOT NULL DEFAULT 0 CHECK (advice_may_resume IN (0, 1)),
    refused_advice    TEXT NOT NULL DEFAULT '',  -- the newest advice that the endpoint refused

    CHECK ((hint_interval_ms IS NULL) = (hint_interval_expires_at IS NULL)),
    CHECK ((hint_one_shot_at IS NULL) = (hint_one_shot_expires_at IS NULL)),
    CHECK (hint_one_shot_at <= hint_one_shot_expires_at)
) STRICT;
CREATE INDEX schedule_claimable ON schedule (claimable_at) WHERE claimable_at IS NOT NULL;
CREATE INDEX schedule_upcoming ON schedule (tenant_id, claimable_at) WHERE claimable_at IS NOT NULL;  -- lists of a tenant
CREATE INDEX schedule_leased ON schedule (tenant_id) WHERE lease_until IS NOT NULL;
CREATE INDEX schedule_flight ON schedule (host) WHERE lease_until IS NOT NULL;
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

-- One row for all events of a tenant in one transaction, in their order.
CREATE TABLE event (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id TEXT NOT NULL,
    at        INTEGER NOT NULL,
    events    TEXT NOT NULL
) STRICT;
CREATE INDEX event_by_tenant ON event (tenant_id, seq);
-- What rules would have done in shadow mode, without a scan of all other events.
CREATE INDEX event_in_shadow ON event (tenant_id, seq) WHERE instr(events, '"shadow":true') > 0;

-- Live processes: one row for each kind of work that a process does.
CREATE TABLE worker (
    id         TEXT NOT NULL,
    kind       TEXT NOT NULL,
    places     INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    PRIMARY KEY (id, kind)
) STRICT, WITHOUT ROWID;

-- Detected steps and differences of clocks.
CREATE TABLE clock_report (
    id      TEXT PRIMARY KEY,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL CHECK (kind IN ('step', 'skew', 'repair')),
    ms      INTEGER NOT NULL,  -- positive: ahead
    worker  TEXT NOT NULL,
    changed INTEGER NOT NULL
) STRICT;
CREATE INDEX clock_report_by_time ON clock_report (at);

-- From which tick on a partition counts from another time than before; only for partitions whose clock was repaired.
CREATE TABLE partition_zero (
    partition INTEGER NOT NULL,
    from_tick INTEGER NOT NULL,
    zero_us   INTEGER NOT NULL,
    PRIMARY KEY (partition, from_tick)
) STRICT;

-- Up to when the starts of a host with a rate are paid for; see domain/schedule/host_limit.py.
CREATE TABLE host_rate (
    host       TEXT PRIMARY KEY,
    paid_until INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

-- Users and their memberships, credentials, and the audit trail. Times are microseconds, UTC.
CREATE TABLE account (
    id            TEXT PRIMARY KEY,
    email         TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    is_operator   INTEGER NOT NULL CHECK (is_operator IN (0, 1)),
    created_at    INTEGER NOT NULL,
    disabled_at   INTEGER,
    subject       TEXT NOT NULL,  -- who this is at the OIDC issuer
    password_hash TEXT NOT NULL,   -- '': has none
    -- What proved that the address belongs to the user of the account: '' nothing yet, 'email', 'sso', 'operator', or
    -- 'tenant:<id>' if only a link of that tenant set the password.
    proof         TEXT NOT NULL DEFAULT '',
    -- The tenant of requests that name none; '': the tenant that the user joined first.
    home          TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX account_by_subject ON account (subject) WHERE subject <> '';

CREATE TABLE member (
    tenant_id  TEXT NOT NULL REFERENCES tenant (id),
    account_id TEXT NOT NULL REFERENCES account (id),
    role       TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'owner')),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, account_id)
) STRICT;
CREATE INDEX member_by_account ON member (account_id, tenant_id);

CREATE TABLE api_key (
    id           TEXT PRIMARY KEY,
    tenant_id    TEXT NOT NULL REFERENCES tenant (id),
    name         TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    is_operator  INTEGER NOT NULL CHECK (is_operator IN (0, 1)),
    created_by   TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    secret_hash  TEXT NOT NULL
) STRICT;
CREATE INDEX api_key_by_tenant ON api_key (tenant_id, created_at);

CREATE TABLE session (
    id         TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES account (id),
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    address    TEXT NOT NULL,
    agent      TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE
) STRICT;
CREATE INDEX session_by_account ON session (account_id);
CREATE INDEX session_by_end ON session (expires_at);

-- One-time links. account_id '': for the first owner, who does not exist yet.
CREATE TABLE link (
    token_hash TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX link_by_account ON link (account_id);

-- The level of a rate-limit bucket, as a time ahead of the clock, in microseconds since 1970 in both databases.
CREATE TABLE attempt (
    bucket  TEXT PRIMARY KEY,
    free_us INTEGER NOT NULL
) STRICT;
CREATE INDEX attempt_by_end ON attempt (free_us);

-- Append only; each entry seals the one before it.
CREATE TABLE audit_entry (
    tenant_id TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    actor     TEXT NOT NULL,
    address   TEXT NOT NULL,
    act       TEXT NOT NULL,
    subject   TEXT NOT NULL,
    detail    TEXT NOT NULL,
    before    TEXT NOT NULL,
    after     TEXT NOT NULL,
    key_id    TEXT NOT NULL,
    seal      TEXT NOT NULL,
    PRIMARY KEY (tenant_id, seq)
) STRICT;
CREATE TRIGGER audit_entry_stays BEFORE UPDATE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'the audit trail is append only'); END;
CREATE TRIGGER audit_entry_remains BEFORE DELETE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'the audit trail is append only'); END;

CREATE TABLE audit_head (
    tenant_id TEXT PRIMARY KEY,
    seq       INTEGER NOT NULL,
    seal      TEXT NOT NULL
) STRICT;

-- Invitations to tenants that are not accepted yet.
CREATE TABLE invitation (
    tenant_id  TEXT NOT NULL REFERENCES tenant (id),
    email      TEXT NOT NULL,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'owner')),
    proof      TEXT NOT NULL,  -- what using the link proves about the address
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    token_hash TEXT NOT NULL UNIQUE,
    PRIMARY KEY (tenant_id, email)
) STRICT;

-- A user's second factor: a secret shared with an authenticator app. last_step: the newest code that was used.
CREATE TABLE second_factor (
    account_id   TEXT PRIMARY KEY REFERENCES account (id),
    sealed       TEXT NOT NULL,
    confirmed_at INTEGER,          -- NULL: begun, and not in force yet
    last_step    INTEGER NOT NULL,
    recovery     TEXT NOT NULL     -- hashes of the recovery codes that are left, with spaces between them
) STRICT;

-- Public keys of users' devices. proof: what had proved the user's address when the passkey was added.
CREATE TABLE passkey (
    id            TEXT PRIMARY KEY,
    account_id    TEXT NOT NULL REFERENCES account (id),
    credential_id TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    credential    TEXT NOT NULL,
    sign_count    INTEGER NOT NULL,
    proof         TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    used_at       INTEGER
) STRICT;
CREATE INDEX passkey_by_account ON passkey (account_id, created_at);

-- Challenges for devices to sign: each once, within minutes.
CREATE TABLE challenge (
    id         TEXT PRIMARY KEY,
    ceremony   TEXT NOT NULL,
    bound_to   TEXT NOT NULL,   -- a session, a user, or '' for a login that begins with a passkey
    value      TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX challenge_by_end ON challenge (expires_at);

-- Stored responses for requests that are sent again under the same Idempotency-Key. Encrypted, because a response may
-- contain a key that is shown once. No response yet: the first request is in progress, until its claim ends.
CREATE TABLE answer (
    tenant_id     TEXT NOT NULL,
    actor         TEXT NOT NULL,
    key           TEXT NOT NULL,
    request       TEXT NOT NULL,
    answer        TEXT,
    claimed_until INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, actor, key)
) STRICT;
CREATE INDEX answer_by_expiry ON answer (expires_at);

-- Subscriptions, the deliveries to them, and the position in the events.
CREATE TABLE subscription (
    id              TEXT PRIMARY KEY,
    tenant_id       TEXT NOT NULL REFERENCES tenant (id),
    kind            TEXT NOT NULL CHECK (kind IN ('webhook', 'alert')),
    name            TEXT NOT NULL,
    config          TEXT NOT NULL,
    enabled         INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    version         INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    active_since    INTEGER NOT NULL,
    failing_since   INTEGER,
    failure_count   INTEGER NOT NULL CHECK (failure_count >= 0),
    disabled_reason TEXT NOT NULL,
    managed_by      TEXT NOT NULL DEFAULT '',  -- the configuration source that describes it; '': none
    UNIQUE (tenant_id, kind, name)
) STRICT;

-- One row per message and receiver, for all of its attempts.
CREATE TABLE delivery (
    id              TEXT PRIMARY KEY,
    tenant_id       TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    channel         TEXT NOT NULL,
    key             TEXT NOT NULL,
    type            TEXT NOT NULL,
    payload         TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'held', 'digested', 'dropped')),
    attempt         INTEGER NOT NULL CHECK (attempt >= 0),
    next_attempt_at INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    happened_at     INTEGER NOT NULL,
    sent_at         INTEGER,
    status_code     INTEGER,
    error           TEXT,
    snippet         TEXT NOT NULL,
    duration_ms     INTEGER,
    worker          TEXT NOT NULL DEFAULT '',  -- the notifier that sends it; another takes over if it dies
    UNIQUE (subscription_id, channel, key)
) STRICT;
-- The next delivery of each receiver, without a scan of the deliveries of others or of delivered ones.
CREATE INDEX delivery_next ON delivery (subscription_id, status, next_attempt_at, id)
    WHERE status IN ('pending', 'held');
CREATE INDEX delivery_by_worker ON delivery (worker) WHERE worker <> '';
CREATE INDEX delivery_by_tenant ON delivery (tenant_id, id);
CREATE INDEX delivery_by_subscription ON delivery (subscription_id, id);

CREATE TABLE alert_state (
    subscription_id TEXT NOT NULL,
    tenant_id       TEXT NOT NULL,
    trouble         TEXT NOT NULL,
    subject_id      TEXT NOT NULL,
    is_open         INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    since           INTEGER NOT NULL,
    revision        INTEGER NOT NULL,
    notified_at     INTEGER,
    notify_at       INTEGER,
    PRIMARY KEY (subscription_id, trouble, subject_id)
) STRICT;

-- One row: the cursor of the last event that was processed.
CREATE TABLE outbox_position (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    cursor TEXT NOT NULL
) STRICT;

-- The last report of a watch, so that the next process can report a recovery.
CREATE TABLE watch_report (
    name     TEXT PRIMARY KEY,
    reported TEXT NOT NULL
) STRICT;

-- Workflows: versions, executions and their logs, arrivals, effects, and the ticks of each partition.
-- Times are microseconds since 1970 (..._us): they are stored with hashed data, and only the ticker compares them.
CREATE TABLE workflow_version (
    tenant_id  TEXT NOT NULL,
    name       TEXT NOT NULL,
    version    INTEGER NOT NULL CHECK (version > 0),
    document   TEXT NOT NULL,
    model      TEXT NOT NULL,
    actor      TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name, version)
) STRICT;

-- Each has one writer: the leader holds the lease, and every tick compares and swaps (epoch, tick).
CREATE TABLE workflow_partition (
    partition      INTEGER PRIMARY KEY CHECK (partition >= 0),
    zero_us        INTEGER NOT NULL,
    resolution_ms  INTEGER NOT NULL CHECK (resolution_ms > 0),
    epoch          INTEGER NOT NULL,
    tick           INTEGER NOT NULL,
    sequence       INTEGER NOT NULL,
    arrivals       INTEGER NOT NULL,
    head           TEXT NOT NULL,
    lease_until_us INTEGER NOT NULL,
    worker         TEXT NOT NULL
) STRICT;

CREATE TABLE execution (
    id              TEXT PRIMARY KEY,
    tenant_id       TEXT NOT NULL,
    workflow        TEXT NOT NULL,
    version         INTEGER NOT NULL,
    partition       INTEGER NOT NULL,
    correlation     TEXT NOT NULL,
    idempotency_key TEXT,
    salt            TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled')),
    step            TEXT NOT NULL,
    ready_tick      INTEGER,
    number          INTEGER NOT NULL,
    head            TEXT NOT NULL,
    outcome         TEXT NOT NULL,
    error           TEXT NOT NULL,
    actor           TEXT NOT NULL,
    created_us      INTEGER NOT NULL,
    moved_us        INTEGER NOT NULL,
    state           TEXT NOT NULL,
    ended_us        INTEGER  -- when it completed or was cancelled; a column that changes once
) STRICT;
CREATE INDEX execution_by_tenant ON execution (tenant_id, id);
CREATE INDEX execution_by_correlation ON execution (tenant_id, correlation, ended_us) WHERE correlation <> '';
CREATE UNIQUE INDEX execution_once ON execution (tenant_id, workflow, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX execution_ended ON execution (partition, ended_us) WHERE ended_us IS NOT NULL;
-- Executions that wait for a person.
CREATE INDEX execution_in_need ON execution (tenant_id, id) WHERE status IN ('failed', 'paused');

-- Ready executions, apart from their rows: a tick that moves an execution writes no other index.
CREATE TABLE execution_ready (
    partition    INTEGER NOT NULL,
    tick         INTEGER NOT NULL,
    execution_id TEXT NOT NULL,
    PRIMARY KEY (partition, tick, execution_id)
) WITHOUT ROWID, STRICT;
-- Adding an execution queues it; after that the ticker alone writes the queue.
CREATE TRIGGER execution_queued AFTER INSERT ON execution WHEN NEW.ready_tick IS NOT NULL
BEGIN
    INSERT INTO execution_ready (partition, tick, execution_id) VALUES (NEW.partition, NEW.ready_tick, NEW.id);
END;

CREATE TABLE execution_entry (
    execution_id TEXT NOT NULL,
    number       INTEGER NOT NULL,
    tick         INTEGER NOT NULL,
    step         TEXT NOT NULL,
    action       TEXT NOT NULL,
    input_hash   BLOB NOT NULL,
    output_hash  BLOB NOT NULL,
    context      BLOB NOT NULL,
    previous     BLOB NOT NULL,
    hash         BLOB NOT NULL,
    input        TEXT,
    output       TEXT,
    PRIMARY KEY (execution_id, number)
) STRICT;

-- Arrivals of an execution. The writer of its partition numbers each when it processes it.
CREATE TABLE execution_arrival (
    execution_id TEXT NOT NULL,
    id           TEXT NOT NULL,
    partition    INTEGER NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('event', 'result', 'command')),
    type         TEXT NOT NULL,
    data         TEXT NOT NULL,
    actor        TEXT NOT NULL,
    occurred_at  TEXT NOT NULL,
    arrived_us   INTEGER NOT NULL,
    number       INTEGER,
    tick         INTEGER,
    PRIMARY KEY (execution_id, id)
) STRICT;
CREATE INDEX execution_arrival_new ON execution_arrival (partition, arrived_us) WHERE number IS NULL;

CREATE TABLE execution_effect (
    key            TEXT PRIMARY KEY,
    execution_id   TEXT NOT NULL,
    tenant_id      TEXT NOT NULL,
    partition      INTEGER NOT NULL,
    step           TEXT NOT NULL,
    visit          INTEGER NOT NULL,
    attempt        INTEGER NOT NULL,
    kind           TEXT NOT NULL,
    request        TEXT NOT NULL,
    idempotency    TEXT NOT NULL CHECK (idempotency IN ('at_least_once', 'at_most_once')),
    timeout_ms     INTEGER NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('ready', 'sending', 'done', 'withdrawn')),
    claim          INTEGER NOT NULL,
    worker         TEXT NOT NULL,
    due_us         INTEGER NOT NULL,
    tick           INTEGER NOT NULL
) STRICT;
CREATE INDEX execution_effect_due ON execution_effect (due_us) WHERE status IN ('ready', 'sending');
CREATE INDEX execution_effect_of ON execution_effect (execution_id);

CREATE TABLE workflow_tick (
    partition INTEGER NOT NULL,
    sequence  INTEGER NOT NULL,
    tick      INTEGER NOT NULL,
    heads     TEXT NOT NULL,
    previous  TEXT NOT NULL,
    hash      TEXT NOT NULL,
    epoch     INTEGER NOT NULL,
    wall_us   INTEGER NOT NULL,
    worker    TEXT NOT NULL,
    PRIMARY KEY (partition, sequence)
) STRICT;

CREATE TABLE workflow_checkpoint (
    partition  INTEGER NOT NULL,
    sequence   INTEGER NOT NULL,
    tick       INTEGER NOT NULL,
    head       TEXT NOT NULL,
    signed_us  INTEGER NOT NULL,
    public_key TEXT NOT NULL,
    signature  TEXT NOT NULL,
    PRIMARY KEY (partition, sequence)
) STRICT;

-- Archived workflows, which cannot be started. Their versions stay, for running and finished executions.
CREATE TABLE archived_workflow (
    tenant_id   TEXT NOT NULL,
    name        TEXT NOT NULL,
    archived_us INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;

-- The configuration source that describes a workflow; no row: none.
CREATE TABLE workflow_source (
    tenant_id TEXT NOT NULL REFERENCES tenant (id),
    name      TEXT NOT NULL,
    source    TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;

-- The position in the events of the trigger worker.
CREATE TABLE trigger_position (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    cursor TEXT NOT NULL
) STRICT;

-- Data of the planner: rules and what they remember, its position in the events, its modes, and model sessions.
CREATE TABLE rule (
    id          TEXT PRIMARY KEY,
    tenant_id   TEXT NOT NULL REFERENCES tenant (id),
    job_id      TEXT REFERENCES job (id),
    endpoint_id TEXT REFERENCES endpoint (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL,
    name        TEXT NOT NULL,
    document    TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    CHECK ((job_id IS NULL) <> (endpoint_id IS NULL))
) STRICT;
CREATE UNIQUE INDEX rule_of_endpoint ON rule (endpoint_id, name) WHERE endpoint_id IS NOT NULL;
CREATE UNIQUE INDEX rule_of_job ON rule (job_id, name) WHERE job_id IS NOT NULL;
CREATE INDEX rule_by_tenant ON rule (tenant_id);

CREATE TABLE rule_state (
    rule_id     TEXT NOT NULL REFERENCES rule (id) ON DELETE CASCADE,
    endpoint_id TEXT NOT NULL,
    streak      INTEGER NOT NULL CHECK (streak >= 0),
    fired_at    INTEGER,
    fault       TEXT NOT NULL,
    refused     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (rule_id, endpoint_id)
) STRICT;

-- The event up to which every finished run has been judged; moved by compare and swap.
CREATE TABLE planner_cursor (
    name   TEXT PRIMARY KEY,
    cursor TEXT NOT NULL
) STRICT;

CREATE TABLE planner_mode (
    scope TEXT PRIMARY KEY,
    mode  TEXT NOT NULL CHECK (mode IN ('live', 'ask', 'shadow', 'off'))
) STRICT;

-- When an endpoint is due for the next model session, and which worker has leased it.
CREATE TABLE analysis (
    endpoint_id      TEXT PRIMARY KEY REFERENCES endpoint (id) ON DELETE CASCADE,
    tenant_id        TEXT NOT NULL,
    next_analysis_at INTEGER NOT NULL,
    failure_count    INTEGER NOT NULL CHECK (failure_count >= 0),
    lease_until      INTEGER,
    worker           TEXT NOT NULL
) STRICT;

CREATE TABLE planner_session (
    id               TEXT PRIMARY KEY,
    tenant_id        TEXT NOT NULL REFERENCES tenant (id),
    endpoint_id      TEXT NOT NULL REFERENCES endpoint (id) ON DELETE CASCADE,
    started_at       INTEGER NOT NULL,
    status           TEXT NOT NULL CHECK (status IN ('done', 'incomplete', 'skipped', 'stopped', 'failed')),
    mode             TEXT NOT NULL CHECK (mode IN ('live', 'ask', 'shadow')),
    model            TEXT NOT NULL,
    tokens_in        INTEGER NOT NULL CHECK (tokens_in >= 0),
    tokens_out       INTEGER NOT NULL CHECK (tokens_out >= 0),
    cost_micros      INTEGER NOT NULL CHECK (cost_micros >= 0),
    duration_ms      INTEGER NOT NULL CHECK (duration_ms >= 0),
    next_analysis_at INTEGER NOT NULL,
    failure_count    INTEGER NOT NULL,
    detail           TEXT NOT NULL
) STRICT;
CREATE INDEX planner_session_by_endpoint ON planner_session (endpoint_id, id);
CREATE INDEX planner_session_by_tenant ON planner_session (tenant_id, id);

CREATE TABLE token_usage (
    tenant_id   TEXT NOT NULL,
    month       TEXT NOT NULL,
    tokens_in   INTEGER NOT NULL DEFAULT 0,
    tokens_out  INTEGER NOT NULL DEFAULT 0,
    cost_micros INTEGER NOT NULL DEFAULT 0,
    sessions    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, month)
) STRICT;

-- What advice proposed in mode `ask`, until a person decides or it expires.
CREATE TABLE proposal (
    id          TEXT PRIMARY KEY,
    tenant_id   TEXT NOT NULL REFERENCES tenant (id),
    endpoint_id TEXT NOT NULL REFERENCES endpoint (id) ON DELETE CASCADE,
    author      TEXT NOT NULL,
    action      TEXT NOT NULL,
    arguments   TEXT NOT NULL,
    does        TEXT NOT NULL,
    reason      TEXT NOT NULL,
    cause       TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL CHECK (expires_at >= created_at),
    state       TEXT NOT NULL
        CHECK (state IN ('pending', 'approved', 'rejected', 'expired', 'superseded', 'withdrawn')),
    decided_at  INTEGER,
    decided_by  TEXT NOT NULL,
    note        TEXT NOT NULL,
    CHECK ((state = 'pending') = (decided_at IS NULL))
) STRICT;
CREATE INDEX proposal_by_tenant ON proposal (tenant_id, created_at, id);
CREATE INDEX proposal_by_endpoint ON proposal (endpoint_id, state, expires_at);
CREATE INDEX proposal_pending ON proposal (expires_at) WHERE state = 'pending';
CREATE INDEX proposal_decided ON proposal (decided_at) WHERE state <> 'pending';

-- Keys of rows of large tables that changed while the installation moves to another database.
CREATE TABLE move_change (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    table_name TEXT NOT NULL,
    key        TEXT NOT NULL  -- a JSON array
) STRICT;
