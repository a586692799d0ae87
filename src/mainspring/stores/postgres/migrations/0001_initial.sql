-- The schedule, its history and related data. Text that is compared or sorted uses the C collation: exact and fast.
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

-- One row per worker, so that workers never wait for each other to count.
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
    managed_by  text COLLATE "C" NOT NULL DEFAULT '',  -- the configuration source that describes the job; '': none
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
    managed_by      text COLLATE "C" NOT NULL DEFAULT '',  -- the configuration source that describes the endpoint; '': none
    advice          text COLLATE "C" NOT NULL DEFAULT 'interval,run,wake,pause,siblings',  -- what advice may do to it
    CHECK ((cron IS NULL) <> (interval_ms IS NULL)),
    CHECK (min_interval_ms <= max_interval_ms)
);
CREATE UNIQUE INDEX endpoint_by_name ON endpoint (tenant_id, name) WHERE archived_at IS NULL;
CREATE INDEX endpoint_by_job ON endpoint (job_id, name, id);
CREATE INDEX endpoint_archived ON endpoint (tenant_id, name, id) WHERE archived_at IS NOT NULL;
-- Endpoints that a model may analyse because they have a description, without a scan of all others.
CREATE INDEX endpoint_described ON endpoint (id, job_id) WHERE description <> '' AND archived_at IS NULL;

-- State that changes with every run, apart from the configuration: rows that are rewritten all day stay short.
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
    lot         int GENERATED ALWAYS AS (hashtext(id)) STORED,  -- the order of those that are due at the same instant

    -- When a worker may claim it: when its lease ends, or when it is due or a run is requested.
    claimable_at timestamptz GENERATED ALWAYS AS
        (COALESCE(lease_until, LEAST(manual_at, next_run_at))) STORED,
    hint_expires_at timestamptz GENERATED ALWAYS AS
        (LEAST(hint_interval_expires_at, hint_one_shot_expires_at)) STORED,

    ran_from_at  timestamptz,  -- the slots that ran while the clock was ahead
    ran_until_at timestamptz,
    last_duration_ms bigint CHECK (last_duration_ms >= 0),  -- tells slow runs from quick ones
    pause_author      text COLLATE "C" NOT NULL DEFAULT '',
    advice_may_resume boolean NOT NULL DEFAULT false,
    refused_advice    text COLLATE "C" NOT NULL DEFAULT '',  -- the newest advice that the endpoint refused

    CHECK ((hint_interval_ms IS NULL) = (hint_interval_expires_at IS NULL)),
    CHECK ((hint_one_shot_at IS NULL) = (hint_one_shot_expires_at IS NULL)),
    CHECK (hint_one_shot_at <= hint_one_shot_expires_at)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX schedule_claimable ON schedule (claimable_at, lot) WHERE claimable_at IS NOT NULL;
CREATE INDEX schedule_upcoming ON schedule (tenant_id, claimable_at) WHERE claimable_at IS NOT NULL;  -- lists of a tenant
CREATE INDEX schedule_leased ON schedule (tenant_id) WHERE lease_until IS NOT NULL;
CREATE INDEX schedule_flight ON schedule (host) WHERE lease_until IS NOT NULL;
CREATE INDEX schedule_hinted ON schedule (hint_expires_at) WHERE hint_expires_at IS NOT NULL;

-- Runs are partitioned by their ids, which begin with the time: a run is looked up in one partition, and a partition
-- past its retention is dropped. Partitions have room to end a run in the page it started in; see `make_partition`.
CREATE TABLE run (
    id           text COLLATE "C" NOT NULL,
    tenant_id    text COLLATE "C" NOT NULL,
    endpoint_id  text COLLATE "C" NOT NULL,
    slot_at      timestamptz NOT NULL,
    attempt      bigint NOT NULL,
    trigger      text COLLATE "C" NOT NULL CHECK (trigger IN ('schedule', 'manual', 'test', 'catch-up', 'retry')),
    source       text COLLATE "C" NOT NULL,
    status       text COLLATE "C" NOT NULL
        CHECK (status IN ('running', 'success', 'failure', 'timeout', 'blocked', 'abandoned', 'superseded', 'unknown',
                          'missed')),
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
) PARTITION BY RANGE (id);
CREATE INDEX run_by_endpoint ON run (endpoint_id, id);

-- Events are read in the order of `seq`, one row for all events of a tenant in one transaction. Sequence numbers are
-- not handed out in commit order, so a reader stops before the oldest writer of events that has not ended.
-- Each partition has 2^30 numbers. `begin_event_partition` continues in the next one, long before they are used up.
CREATE SEQUENCE event_seq_seq;
CREATE TABLE event (
    seq       bigint NOT NULL DEFAULT nextval('event_seq_seq'),
    tenant_id text COLLATE "C" NOT NULL,
    at        timestamptz NOT NULL,
    events    text COLLATE "C" NOT NULL,
    PRIMARY KEY (seq)
) PARTITION BY RANGE (seq);
ALTER SEQUENCE event_seq_seq OWNED BY event.seq;
CREATE INDEX event_by_tenant ON event (tenant_id, seq);
-- What rules would have done in shadow mode, without a scan of all other events.
CREATE INDEX event_in_shadow ON event (tenant_id, seq) WHERE strpos(events, '"shadow":true') > 0;

-- The writer holds a shared advisory lock until its transaction ends. The key is the newest number at that time: the
-- numbers of its rows are greater. A trigger for the statement runs before the first number is drawn, for every insert.
-- One lock is enough for a transaction, so that many statements do not fill the server's table of locks.
CREATE FUNCTION mark_event_writer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF COALESCE(current_setting('mainspring.writes_events', true), '') = '' THEN
        PERFORM pg_advisory_xact_lock_shared(TG_RELID::int, (last_value - (NOT is_called)::int)::bit(32)::int)
        FROM event_seq_seq;
        PERFORM set_config('mainspring.writes_events', 'yes', true);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER event_writers BEFORE INSERT ON event FOR EACH STATEMENT EXECUTE FUNCTION mark_event_writer();

-- Open writers of events: their processes, and a number that all of their rows exceed. A key is the low 32 bits of that
-- number, which is within 2^31 of the newest one, on either side: it may have been read later.
CREATE FUNCTION event_writers(newest bigint) RETURNS TABLE (pid int, virtualtransaction text, beyond bigint)
VOLATILE LANGUAGE sql AS $$
    SELECT pid, virtualtransaction, newest - ((newest - objid::bigint + 2147483648) & 4294967295) + 2147483648
    FROM pg_locks WHERE locktype = 'advisory' AND classid = 'event'::regclass AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
$$;

-- The number up to which every event has been committed or never will be. First the newest number, then the writers: a
-- writer marks itself before it draws a number. A statement that begins after this has returned sees all of them.
CREATE FUNCTION event_horizon() RETURNS bigint VOLATILE LANGUAGE plpgsql AS $$
DECLARE
    newest bigint;
BEGIN
    SELECT last_value - (NOT is_called)::int INTO newest FROM event_seq_seq;
    RETURN LEAST(newest, (SELECT MIN(beyond) FROM event_writers(newest)));
END $$;

-- Live processes: one row for each kind of work that a process does.
CREATE TABLE worker (
    id         text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    places     bigint NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    PRIMARY KEY (id, kind)
) WITH (fillfactor = 50);  -- rewritten every second

-- Detected steps and differences of clocks.
CREATE TABLE clock_report (
    id      text COLLATE "C" PRIMARY KEY,
    at      timestamptz NOT NULL,
    kind    text COLLATE "C" NOT NULL CHECK (kind IN ('step', 'skew', 'repair')),
    ms      bigint NOT NULL,  -- positive: ahead
    worker  text COLLATE "C" NOT NULL,
    changed bigint NOT NULL
);
CREATE INDEX clock_report_by_time ON clock_report (at);

-- From which tick on a partition counts from another time than before; only for partitions whose clock was repaired.
CREATE TABLE partition_zero (
    partition bigint NOT NULL,
    from_tick bigint NOT NULL,
    zero_us   bigint NOT NULL,
    PRIMARY KEY (partition, from_tick)
);

-- Up to when the starts of a host with a rate are paid for; see domain/schedule/host_limit.py.
CREATE TABLE host_rate (
    host       text COLLATE "C" PRIMARY KEY,
    paid_until timestamptz NOT NULL
);

-- How many more runs of a tenant may start, by the limit (NULL: need not be counted) and by the quota of the month.
CREATE FUNCTION tenant_room(tenant_id text, per_tenant bigint, seen_at timestamptz, quota bigint, this_month text)
RETURNS bigint VOLATILE LANGUAGE sql AS $$
    SELECT LEAST(
        CASE WHEN $2 IS NOT NULL THEN $2 - (SELECT COUNT(*) FROM (
            SELECT FROM schedule AS held WHERE held.tenant_id = $1 AND lease_until IS NOT NULL AND lease_until > $3
            LIMIT $2) AS flight) END,
        CASE WHEN $4 IS NOT NULL THEN $4 - (
            SELECT COALESCE(SUM(runs), 0)::bigint FROM usage WHERE usage.tenant_id = $1 AND month = $5) END)
$$;

-- Whether a claim that was decided without the claim lock (`turn`) may be written: the data it read is at most two
-- seconds old, and limits and quotas still have room. The function takes locks for the rest of the transaction and
-- counts again: a volatile function sees what was committed before it is called, the statement that calls it only what
-- was committed before the statement began. The claim lock is shared: a claim under the exclusive lock excludes all
-- others. The lanes of the hosts are locked exclusively, so limits of hosts hold. A tenant spans lanes, and the workers
-- (`shares`) share it: each may take an equal part of the remaining runs, and a worker that takes more locks the tenant
-- exclusively.
CREATE FUNCTION claims_fit(turn bigint, lane_class int, at timestamptz, seen_at timestamptz, this_month text, tenants text[],
                           hosts text[], lanes int[], host_caps bigint[], per_tenant bigint, shares bigint)
RETURNS boolean VOLATILE LANGUAGE plpgsql AS $$
DECLARE
    lane int;
    new record;
BEGIN
    IF at > seen_at + interval '2 seconds' OR NOT pg_try_advisory_xact_lock_shared(turn) THEN
        RETURN false;
    END IF;
    FOREACH lane IN ARRAY lanes LOOP
        IF NOT pg_try_advisory_xact_lock(lane_class, lane) THEN
            RETURN false;
        END IF;
    END LOOP;
    IF EXISTS (
        SELECT FROM (SELECT host, MIN(cap) AS cap, COUNT(*) AS wanted
                     FROM unnest(hosts, host_caps) AS called (host, cap) GROUP BY host) AS called
        WHERE wanted + (SELECT COUNT(*) FROM (
            SELECT FROM schedule AS held WHERE held.host = called.host AND lease_until IS NOT NULL AND lease_until > seen_at
            LIMIT cap) AS flight) > cap) THEN
        RETURN false;
    END IF;
    FOR new IN
        SELECT id, runs_per_month, wanted, (hashtext(id) & 1023) + 1024 AS key FROM tenant JOIN (
            SELECT named.tenant_id, COUNT(*) AS wanted FROM unnest(tenants) AS named (tenant_id) GROUP BY 1) AS asking ON id = tenant_id
        WHERE per_tenant IS NOT NULL OR runs_per_month IS NOT NULL ORDER BY key
    LOOP
        IF NOT pg_try_advisory_xact_lock_shared(lane_class, new.key) THEN
            RETURN false;
        END IF;
        CONTINUE WHEN new.wanted * shares <= tenant_room(new.id, per_tenant, seen_at, new.runs_per_month, this_month);
        IF NOT pg_try_advisory_xact_lock(lane_class, new.key)
           OR new.wanted > tenant_room(new.id, per_tenant, seen_at, new.runs_per_month, this_month) THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;

-- Users and their memberships, credentials, and the audit trail.
CREATE TABLE account (
    id            text COLLATE "C" PRIMARY KEY,
    email         text COLLATE "C" NOT NULL UNIQUE,
    name          text COLLATE "C" NOT NULL,
    is_operator   boolean NOT NULL,
    created_at    timestamptz NOT NULL,
    disabled_at   timestamptz,
    subject       text COLLATE "C" NOT NULL,  -- who this is at the OIDC issuer
    password_hash text COLLATE "C" NOT NULL,   -- '': has none
    -- What proved that the address belongs to the user of the account: '' nothing yet, 'email', 'sso', 'operator', or
    -- 'tenant:<id>' if only a link of that tenant set the password.
    proof         text COLLATE "C" NOT NULL DEFAULT '',
    -- The tenant of requests that name none; '': the tenant that the user joined first.
    home          text COLLATE "C" NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX account_by_subject ON account (subject) WHERE subject <> '';

CREATE TABLE member (
    tenant_id  text COLLATE "C" NOT NULL REFERENCES tenant (id),
    account_id text COLLATE "C" NOT NULL REFERENCES account (id),
    role       text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'operator', 'owner')),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, account_id)
);
CREATE INDEX member_by_account ON member (account_id, tenant_id);

CREATE TABLE api_key (
    id           text COLLATE "C" PRIMARY KEY,
    tenant_id    text COLLATE "C" NOT NULL REFERENCES tenant (id),
    name         text COLLATE "C" NOT NULL,
    scopes       text COLLATE "C" NOT NULL,
    is_operator  boolean NOT NULL,
    created_by   text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    secret_hash  text COLLATE "C" NOT NULL
);
CREATE INDEX api_key_by_tenant ON api_key (tenant_id, created_at);

CREATE TABLE session (
    id         text COLLATE "C" PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL REFERENCES account (id),
    created_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    address    text COLLATE "C" NOT NULL,
    agent      text COLLATE "C" NOT NULL,
    token_hash text COLLATE "C" NOT NULL UNIQUE
);
CREATE INDEX session_by_account ON session (account_id);
CREATE INDEX session_by_end ON session (expires_at);

-- One-time links. account_id '': for the first owner, who does not exist yet.
CREATE TABLE link (
    token_hash text COLLATE "C" PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX link_by_account ON link (account_id);

-- The level of a rate-limit bucket, as a time ahead of the clock, in microseconds since 1970 in both databases.
CREATE TABLE attempt (
    bucket  text COLLATE "C" PRIMARY KEY,
    free_us bigint NOT NULL
);
CREATE INDEX attempt_by_end ON attempt (free_us);

-- Append only; each entry seals the one before it.
CREATE TABLE audit_entry (
    tenant_id text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,
    at        timestamptz NOT NULL,
    actor     text COLLATE "C" NOT NULL,
    address   text COLLATE "C" NOT NULL,
    act       text COLLATE "C" NOT NULL,
    subject   text COLLATE "C" NOT NULL,
    detail    text COLLATE "C" NOT NULL,
    before    text COLLATE "C" NOT NULL,
    after     text COLLATE "C" NOT NULL,
    key_id    text COLLATE "C" NOT NULL,
    seal      text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, seq)
);
CREATE FUNCTION audit_entry_stays() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit trail is append only'; END $$;
CREATE TRIGGER audit_entry_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry
FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_stays();

CREATE TABLE audit_head (
    tenant_id text COLLATE "C" PRIMARY KEY,
    seq       bigint NOT NULL,
    seal      text COLLATE "C" NOT NULL
);

-- Invitations to tenants that are not accepted yet.
CREATE TABLE invitation (
    tenant_id  text COLLATE "C" NOT NULL REFERENCES tenant (id),
    email      text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    role       text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'operator', 'owner')),
    proof      text COLLATE "C" NOT NULL,  -- what using the link proves about the address
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    token_hash text COLLATE "C" NOT NULL UNIQUE,
    PRIMARY KEY (tenant_id, email)
);

-- A user's second factor: a secret shared with an authenticator app. last_step: the newest code that was used.
CREATE TABLE second_factor (
    account_id   text COLLATE "C" PRIMARY KEY REFERENCES account (id),
    sealed       text COLLATE "C" NOT NULL,
    confirmed_at timestamptz,          -- NULL: begun, and not in force yet
    last_step    bigint NOT NULL,
    recovery     text COLLATE "C" NOT NULL     -- hashes of the recovery codes that are left, with spaces between them
);

-- Public keys of users' devices. proof: what had proved the user's address when the passkey was added.
CREATE TABLE passkey (
    id            text COLLATE "C" PRIMARY KEY,
    account_id    text COLLATE "C" NOT NULL REFERENCES account (id),
    credential_id text COLLATE "C" NOT NULL UNIQUE,
    name          text COLLATE "C" NOT NULL,
    credential    text COLLATE "C" NOT NULL,
    sign_count    bigint NOT NULL,
    proof         text COLLATE "C" NOT NULL,
    created_at    timestamptz NOT NULL,
    used_at       timestamptz
);
CREATE INDEX passkey_by_account ON passkey (account_id, created_at);

-- Challenges for devices to sign: each once, within minutes.
CREATE TABLE challenge (
    id         text COLLATE "C" PRIMARY KEY,
    ceremony   text COLLATE "C" NOT NULL,
    bound_to   text COLLATE "C" NOT NULL,   -- a session, a user, or '' for a login that begins with a passkey
    value      text COLLATE "C" NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX challenge_by_end ON challenge (expires_at);

-- Stored responses for requests that are sent again under the same Idempotency-Key. Encrypted, because a response may
-- contain a key that is shown once. No response yet: the first request is in progress, until its claim ends.
CREATE TABLE answer (
    tenant_id     text COLLATE "C" NOT NULL,
    actor         text COLLATE "C" NOT NULL,
    key           text COLLATE "C" NOT NULL,
    request       text COLLATE "C" NOT NULL,
    answer        text COLLATE "C",
    claimed_until timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, actor, key)
);
CREATE INDEX answer_by_expiry ON answer (expires_at);

-- Subscriptions, the deliveries to them, and the position in the events.
CREATE TABLE subscription (
    id              text COLLATE "C" PRIMARY KEY,
    tenant_id       text COLLATE "C" NOT NULL REFERENCES tenant (id),
    kind            text COLLATE "C" NOT NULL CHECK (kind IN ('webhook', 'alert')),
    name            text COLLATE "C" NOT NULL,
    config          text COLLATE "C" NOT NULL,
    enabled         boolean NOT NULL,
    version         bigint NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    active_since    timestamptz NOT NULL,
    failing_since   timestamptz,
    failure_count   bigint NOT NULL CHECK (failure_count >= 0),
    disabled_reason text COLLATE "C" NOT NULL,
    managed_by      text COLLATE "C" NOT NULL DEFAULT '',  -- the configuration source that describes it; '': none
    UNIQUE (tenant_id, kind, name)
);

-- One row per message and receiver, for all of its attempts.
CREATE TABLE delivery (
    id              text COLLATE "C" PRIMARY KEY,
    tenant_id       text COLLATE "C" NOT NULL,
    subscription_id text COLLATE "C" NOT NULL,
    channel         text COLLATE "C" NOT NULL,
    key             text COLLATE "C" NOT NULL,
    type            text COLLATE "C" NOT NULL,
    payload         text COLLATE "C" NOT NULL,
    status          text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'held', 'digested', 'dropped')),
    attempt         bigint NOT NULL CHECK (attempt >= 0),
    next_attempt_at timestamptz NOT NULL,
    created_at      timestamptz NOT NULL,
    happened_at     timestamptz NOT NULL,
    sent_at         timestamptz,
    status_code     bigint,
    error           text COLLATE "C",
    snippet         text COLLATE "C" NOT NULL,
    duration_ms     bigint,
    worker          text COLLATE "C" NOT NULL DEFAULT '',  -- the notifier that sends it; another takes over if it dies
    UNIQUE (subscription_id, channel, key)
);
-- The next delivery of each receiver, without a scan of the deliveries of others or of delivered ones.
CREATE INDEX delivery_next ON delivery (subscription_id, status, next_attempt_at, id)
    WHERE status IN ('pending', 'held');
CREATE INDEX delivery_by_worker ON delivery (worker) WHERE worker <> '';
CREATE INDEX delivery_by_tenant ON delivery (tenant_id, id);
CREATE INDEX delivery_by_subscription ON delivery (subscription_id, id);

CREATE TABLE alert_state (
    subscription_id text COLLATE "C" NOT NULL,
    tenant_id       text COLLATE "C" NOT NULL,
    trouble         text COLLATE "C" NOT NULL,
    subject_id      text COLLATE "C" NOT NULL,
    is_open         boolean NOT NULL,
    since           timestamptz NOT NULL,
    revision        bigint NOT NULL,
    notified_at     timestamptz,
    notify_at       timestamptz,
    PRIMARY KEY (subscription_id, trouble, subject_id)
);

-- One row: the cursor of the last event that was processed.
CREATE TABLE outbox_position (
    id     bigint PRIMARY KEY CHECK (id = 1),
    cursor text COLLATE "C" NOT NULL
);

-- The last report of a watch, so that the next process can report a recovery.
CREATE TABLE watch_report (
    name     text COLLATE "C" PRIMARY KEY,
    reported text COLLATE "C" NOT NULL
);

-- Workflows: versions, executions and their logs, arrivals, effects, and the ticks of each partition.
-- Times are microseconds since 1970 (..._us): they are stored with hashed data, and only the ticker compares them.
CREATE TABLE workflow_version (
    tenant_id  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    version    bigint NOT NULL CHECK (version > 0),
    document   text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    actor      text COLLATE "C" NOT NULL,
    created_us bigint NOT NULL,
    PRIMARY KEY (tenant_id, name, version)
);

-- Each has one writer: the leader holds the lease, and every tick compares and swaps (epoch, tick).
CREATE TABLE workflow_partition (
    partition      bigint PRIMARY KEY CHECK (partition >= 0),
    zero_us        bigint NOT NULL,
    resolution_ms  bigint NOT NULL CHECK (resolution_ms > 0),
    epoch          bigint NOT NULL,
    tick           bigint NOT NULL,
    sequence       bigint NOT NULL,
    arrivals       bigint NOT NULL,
    head           text COLLATE "C" NOT NULL,
    lease_until_us bigint NOT NULL,
    worker         text COLLATE "C" NOT NULL
);

CREATE TABLE execution (
    id              text COLLATE "C" PRIMARY KEY,
    tenant_id       text COLLATE "C" NOT NULL,
    workflow        text COLLATE "C" NOT NULL,
    version         bigint NOT NULL,
    partition       bigint NOT NULL,
    correlation     text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C",
    salt            text COLLATE "C" NOT NULL,
    status          text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled')),
    step            text COLLATE "C" NOT NULL,
    ready_tick      bigint,
    number          bigint NOT NULL,
    head            text COLLATE "C" NOT NULL,
    outcome         text COLLATE "C" NOT NULL,
    error           text COLLATE "C" NOT NULL,
    actor           text COLLATE "C" NOT NULL,
    created_us      bigint NOT NULL,
    moved_us        bigint NOT NULL,
    state           text COLLATE "C" NOT NULL,
    ended_us        bigint  -- when it completed or was cancelled; a column that changes once
) WITH (fillfactor = 50);  -- every tick changes a row: half of a page is left for its next version
CREATE INDEX execution_by_tenant ON execution (tenant_id, id);
CREATE INDEX execution_by_correlation ON execution (tenant_id, correlation, ended_us) WHERE correlation <> '';
CREATE UNIQUE INDEX execution_once ON execution (tenant_id, workflow, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX execution_ended ON execution (partition, ended_us) WHERE ended_us IS NOT NULL;
-- Executions that wait for a person.
CREATE INDEX execution_in_need ON execution (tenant_id, id) WHERE status IN ('failed', 'paused');

-- Ready executions, apart from their rows: a tick that moves an execution writes no other index.
CREATE TABLE execution_ready (
    partition    bigint NOT NULL,
    tick         bigint NOT NULL,
    execution_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, tick, execution_id)
);
-- Adding an execution queues it; after that the ticker alone writes the queue.
CREATE FUNCTION queue_execution() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO execution_ready (partition, tick, execution_id) VALUES (NEW.partition, NEW.ready_tick, NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER execution_queued AFTER INSERT ON execution
    FOR EACH ROW WHEN (NEW.ready_tick IS NOT NULL) EXECUTE FUNCTION queue_execution();

CREATE TABLE execution_entry (
    execution_id text COLLATE "C" NOT NULL,
    number       bigint NOT NULL,
    tick         bigint NOT NULL,
    step         text COLLATE "C" NOT NULL,
    action       text COLLATE "C" NOT NULL,
    input_hash   bytea NOT NULL,
    output_hash  bytea NOT NULL,
    context      bytea NOT NULL,
    previous     bytea NOT NULL,
    hash         bytea NOT NULL,
    input        text COLLATE "C",
    output       text COLLATE "C",
    PRIMARY KEY (execution_id, number)
);

-- Arrivals of an execution. The writer of its partition numbers each when it processes it.
CREATE TABLE execution_arrival (
    execution_id text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    partition    bigint NOT NULL,
    kind         text COLLATE "C" NOT NULL CHECK (kind IN ('event', 'result', 'command')),
    type         text COLLATE "C" NOT NULL,
    data         text COLLATE "C" NOT NULL,
    actor        text COLLATE "C" NOT NULL,
    occurred_at  text COLLATE "C" NOT NULL,
    arrived_us   bigint NOT NULL,
    number       bigint,
    tick         bigint,
    PRIMARY KEY (execution_id, id)
);
CREATE INDEX execution_arrival_new ON execution_arrival (partition, arrived_us) WHERE number IS NULL;

CREATE TABLE execution_effect (
    key            text COLLATE "C" PRIMARY KEY,
    execution_id   text COLLATE "C" NOT NULL,
    tenant_id      text COLLATE "C" NOT NULL,
    partition      bigint NOT NULL,
    step           text COLLATE "C" NOT NULL,
    visit          bigint NOT NULL,
    attempt        bigint NOT NULL,
    kind           text COLLATE "C" NOT NULL,
    request        text COLLATE "C" NOT NULL,
    idempotency    text COLLATE "C" NOT NULL CHECK (idempotency IN ('at_least_once', 'at_most_once')),
    timeout_ms     bigint NOT NULL,
    status         text COLLATE "C" NOT NULL CHECK (status IN ('ready', 'sending', 'done', 'withdrawn')),
    claim          bigint NOT NULL,
    worker         text COLLATE "C" NOT NULL,
    due_us         bigint NOT NULL,
    tick           bigint NOT NULL
);
CREATE INDEX execution_effect_due ON execution_effect (due_us) WHERE status IN ('ready', 'sending');
CREATE INDEX execution_effect_of ON execution_effect (execution_id);

CREATE TABLE workflow_tick (
    partition bigint NOT NULL,
    sequence  bigint NOT NULL,
    tick      bigint NOT NULL,
    heads     text COLLATE "C" NOT NULL,
    previous  text COLLATE "C" NOT NULL,
    hash      text COLLATE "C" NOT NULL,
    epoch     bigint NOT NULL,
    wall_us   bigint NOT NULL,
    worker    text COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, sequence)
);

CREATE TABLE workflow_checkpoint (
    partition  bigint NOT NULL,
    sequence   bigint NOT NULL,
    tick       bigint NOT NULL,
    head       text COLLATE "C" NOT NULL,
    signed_us  bigint NOT NULL,
    public_key text COLLATE "C" NOT NULL,
    signature  text COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, sequence)
);

-- Archived workflows, which cannot be started. Their versions stay, for running and finished executions.
CREATE TABLE archived_workflow (
    tenant_id   text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    archived_us bigint NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

-- The configuration source that describes a workflow; no row: none.
CREATE TABLE workflow_source (
    tenant_id text COLLATE "C" NOT NULL REFERENCES tenant (id),
    name      text COLLATE "C" NOT NULL,
    source    text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

-- The position in the events of the trigger worker.
CREATE TABLE trigger_position (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    cursor text COLLATE "C" NOT NULL
);

-- Data of the planner: rules and what they remember, its position in the events, its modes, and model sessions.
CREATE TABLE rule (
    id          text COLLATE "C" PRIMARY KEY,
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenant (id),
    job_id      text COLLATE "C" REFERENCES job (id),
    endpoint_id text COLLATE "C" REFERENCES endpoint (id) ON DELETE CASCADE,
    position    bigint NOT NULL,
    name        text COLLATE "C" NOT NULL,
    document    text COLLATE "C" NOT NULL,
    created_at  timestamptz NOT NULL,
    CHECK ((job_id IS NULL) <> (endpoint_id IS NULL))
);
CREATE UNIQUE INDEX rule_of_endpoint ON rule (endpoint_id, name) WHERE endpoint_id IS NOT NULL;
CREATE UNIQUE INDEX rule_of_job ON rule (job_id, name) WHERE job_id IS NOT NULL;
CREATE INDEX rule_by_tenant ON rule (tenant_id);

CREATE TABLE rule_state (
    rule_id     text COLLATE "C" NOT NULL REFERENCES rule (id) ON DELETE CASCADE,
    endpoint_id text COLLATE "C" NOT NULL,
    streak      bigint NOT NULL CHECK (streak >= 0),
    fired_at    timestamptz,
    fault       text COLLATE "C" NOT NULL,
    refused     text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (rule_id, endpoint_id)
);

-- The event up to which every finished run has been judged; moved by compare and swap.
CREATE TABLE planner_cursor (
    name   text COLLATE "C" PRIMARY KEY,
    cursor text COLLATE "C" NOT NULL
);

CREATE TABLE planner_mode (
    scope text COLLATE "C" PRIMARY KEY,
    mode  text COLLATE "C" NOT NULL CHECK (mode IN ('live', 'ask', 'shadow', 'off'))
);

-- When an endpoint is due for the next model session, and which worker has leased it.
CREATE TABLE analysis (
    endpoint_id      text COLLATE "C" PRIMARY KEY REFERENCES endpoint (id) ON DELETE CASCADE,
    tenant_id        text COLLATE "C" NOT NULL,
    next_analysis_at timestamptz NOT NULL,
    failure_count    bigint NOT NULL CHECK (failure_count >= 0),
    lease_until      timestamptz,
    worker           text COLLATE "C" NOT NULL
);

CREATE TABLE planner_session (
    id               text COLLATE "C" PRIMARY KEY,
    tenant_id        text COLLATE "C" NOT NULL REFERENCES tenant (id),
    endpoint_id      text COLLATE "C" NOT NULL REFERENCES endpoint (id) ON DELETE CASCADE,
    started_at       timestamptz NOT NULL,
    status           text COLLATE "C" NOT NULL CHECK (status IN ('done', 'incomplete', 'skipped', 'stopped', 'failed')),
    mode             text COLLATE "C" NOT NULL CHECK (mode IN ('live', 'ask', 'shadow')),
    model            text COLLATE "C" NOT NULL,
    tokens_in        bigint NOT NULL CHECK (tokens_in >= 0),
    tokens_out       bigint NOT NULL CHECK (tokens_out >= 0),
    cost_micros      bigint NOT NULL CHECK (cost_micros >= 0),
    duration_ms      bigint NOT NULL CHECK (duration_ms >= 0),
    next_analysis_at timestamptz NOT NULL,
    failure_count    bigint NOT NULL,
    detail           text COLLATE "C" NOT NULL
);
CREATE INDEX planner_session_by_endpoint ON planner_session (endpoint_id, id);
CREATE INDEX planner_session_by_tenant ON planner_session (tenant_id, id);

CREATE TABLE token_usage (
    tenant_id   text COLLATE "C" NOT NULL,
    month       text COLLATE "C" NOT NULL,
    tokens_in   bigint NOT NULL DEFAULT 0,
    tokens_out  bigint NOT NULL DEFAULT 0,
    cost_micros bigint NOT NULL DEFAULT 0,
    sessions    bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, month)
);

-- What advice proposed in mode `ask`, until a person decides or it expires.
CREATE TABLE proposal (
    id          text COLLATE "C" PRIMARY KEY,
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenant (id),
    endpoint_id text COLLATE "C" NOT NULL REFERENCES endpoint (id) ON DELETE CASCADE,
    author      text COLLATE "C" NOT NULL,
    action      text COLLATE "C" NOT NULL,
    arguments   text COLLATE "C" NOT NULL,
    does        text COLLATE "C" NOT NULL,
    reason      text COLLATE "C" NOT NULL,
    cause       text COLLATE "C" NOT NULL,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL CHECK (expires_at >= created_at),
    state       text COLLATE "C" NOT NULL
        CHECK (state IN ('pending', 'approved', 'rejected', 'expired', 'superseded', 'withdrawn')),
    decided_at  timestamptz,
    decided_by  text COLLATE "C" NOT NULL,
    note        text COLLATE "C" NOT NULL,
    CHECK ((state = 'pending') = (decided_at IS NULL))
);
CREATE INDEX proposal_by_tenant ON proposal (tenant_id, created_at, id);
CREATE INDEX proposal_by_endpoint ON proposal (endpoint_id, state, expires_at);
CREATE INDEX proposal_pending ON proposal (expires_at) WHERE state = 'pending';
CREATE INDEX proposal_decided ON proposal (decided_at) WHERE state <> 'pending';

-- Keys of rows of large tables that changed while the installation moves to another database.
CREATE TABLE move_change (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL  -- a JSON array
);
CREATE FUNCTION record_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO move_change (table_name, key) SELECT %L, json_build_array(%s)::text FROM changed',
                   TG_TABLE_NAME, TG_ARGV[0]);
    RETURN NULL;
END $$;
-- The error for every write in a database that an installation has left.
CREATE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'MS001', MESSAGE = (SELECT value FROM installation WHERE key = 'moved_to');
END $$;

-- Which rows are visible: none while mainspring.tenant is not set, all at '*' (the workers), otherwise those of that
-- tenant. The setting is read in a subquery, once per statement instead of once per row. CASE, because the planner
-- would estimate that a plain condition leaves one row in two hundred. FORCE, because we connect as the owner.
CREATE FUNCTION guard_table(name text, condition text) RETURNS void LANGUAGE plpgsql AS
$$ BEGIN
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY one_tenant ON %I USING (%s)', name, condition);
END $$;

-- Guard every table with a tenant_id that has no policy yet; runs again after every later migration.
CREATE FUNCTION guard_tenants() RETURNS void LANGUAGE plpgsql AS
$$ DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT pg_class.relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'tenant_id'
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relrowsecurity
    LOOP
        PERFORM guard_table(found.relname,
            'CASE WHEN (SELECT current_setting(''mainspring.tenant'', true)) = ''*'' THEN true
                  ELSE tenant_id = (SELECT NULLIF(current_setting(''mainspring.tenant'', true), '''')) END');
    END LOOP;
END $$;

-- Runs and events are partitioned. This lists their partitions with the bounds of their keys. `is_leaving`: it is being
-- removed; without bounds it is detached already.
CREATE VIEW history_partition AS
SELECT split_part(relname, '_', 1) AS parent, relname::text AS name, bound[1] COLLATE "C" AS first,
       bound[2] COLLATE "C" AS upto, COALESCE(inhdetachpending, true) AS is_leaving
FROM pg_class LEFT JOIN pg_inherits ON inhrelid = pg_class.oid
LEFT JOIN regexp_match(pg_get_expr(relpartbound, pg_class.oid), $$FROM \('(.*)'\) TO \('(.*)'\)$$) AS bound ON true
WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'run'::regclass) AND relkind = 'r'
  AND relname ~ '^(run_[0-9]{8}_[0-9]{4}|event_[0-9]+)$';

-- The smallest id that a run of this time can have, and the time of an id.
CREATE FUNCTION run_id_floor(at timestamptz) RETURNS text IMMUTABLE LANGUAGE sql AS
$$ SELECT 'run_' || lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0') $$;
CREATE FUNCTION run_id_time(id text) RETURNS timestamptz IMMUTABLE LANGUAGE sql AS
$$ SELECT timestamptz 'epoch' + ('x0000' || substr(id, 5, 12))::bit(64)::bigint * interval '1 millisecond' $$;

-- Create a table and attach it when it is complete: readers and writers of the other partitions do not wait for that.
-- Its policy is that of its parent, for statements that name the partition.
CREATE FUNCTION make_partition(parent text, name text, first text, upto text, options text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (%s)', name, parent, options);
    PERFORM guard_table(name, pg_get_expr(polqual, polrelid)) FROM pg_policy WHERE polrelid = parent::regclass;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, first, upto);
END $$;

-- The functions below run as the owner of the tables, because a process that inserts runs or removes old ones need not
-- own them. Create the missing partitions of runs in `count` times `width` from `at` on, around those that exist. Pages
-- have room to end a run where it started.
CREATE FUNCTION make_run_partitions(at timestamptz, width interval, count bigint) RETURNS void
SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE plpgsql AS $$
DECLARE
    start   timestamptz := date_bin(width, at, 'epoch');
    next_id text COLLATE "C" := run_id_floor(start);
    last_id text COLLATE "C" := run_id_floor(start + count * width);
    upto_id text COLLATE "C";
BEGIN
    PERFORM pg_advisory_xact_lock('run'::regclass::int, 0);
    WHILE next_id < last_id LOOP
        SELECT upto INTO upto_id FROM history_partition WHERE parent = 'run' AND first <= next_id AND upto > next_id;
        IF NOT FOUND THEN
            SELECT LEAST(run_id_floor(date_bin(width, run_id_time(next_id), 'epoch') + width), MIN(first)) INTO upto_id
            FROM history_partition WHERE parent = 'run' AND first > next_id;
            PERFORM make_partition('run', to_char(run_id_time(next_id) AT TIME ZONE 'UTC', '"run_"YYYYMMDD_HH24MI'),
                next_id, upto_id, 'fillfactor = 40, autovacuum_vacuum_scale_factor = 0.05');
        END IF;
        next_id := upto_id;
    END LOOP;
END $$;

-- Create the partition of the newest event and the two after it, if they are missing.
CREATE FUNCTION make_event_partitions() RETURNS void
SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock('run'::regclass::int, 1);
    PERFORM make_partition('event', 'event_' || number, (number << 30)::text, ((number + 1) << 30)::text,
                           'autovacuum_vacuum_scale_factor = 0.05')
    FROM event_seq_seq CROSS JOIN generate_series(last_value >> 30, (last_value >> 30) + 2) AS number
    WHERE NOT EXISTS (SELECT FROM history_partition WHERE name = 'event_' || number);
END $$;

-- Continue the numbers of events in the next partition; returns whether it did. Returns false while the numbers are
-- about to reach that partition anyway, or while a transaction is open that wrote events before the present partition
-- began: readers know the numbers of open transactions within 2^31 (`event_writers`).
CREATE FUNCTION begin_event_partition() RETURNS boolean
SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE plpgsql AS $$
DECLARE
    newest bigint;
BEGIN
    PERFORM make_event_partitions();
    SELECT last_value INTO newest FROM event_seq_seq;
    IF newest & 1073741823 > 1000000000 OR EXISTS (SELECT FROM event_writers(newest) WHERE beyond >> 30 < newest >> 30) THEN
        RETURN false;
    END IF;
    PERFORM setval('event_seq_seq', ((newest >> 30) + 1) << 30, false);
    RETURN true;
END $$;

-- Remove a partition. The lock timeout is short because all statements after a waiting DROP wait with it.
CREATE FUNCTION drop_partition(partition_name text) RETURNS void
SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '50ms' LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM history_partition WHERE name = partition_name) THEN
        EXECUTE format('DROP TABLE IF EXISTS %I', partition_name);
    END IF;
END $$;

CREATE FUNCTION analyze_history() RETURNS void
SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE plpgsql AS $$
BEGIN
    ANALYZE run;
    ANALYZE event;
END $$;

SELECT guard_tenants();
SELECT make_event_partitions();
SELECT guard_table('tenant', '(SELECT NULLIF(current_setting(''mainspring.tenant'', true), '''')) IN (''*'', id)');
-- Rows that belong to a guarded row are visible to the same users as that row.
SELECT guard_table('execution_arrival', '(SELECT current_setting(''mainspring.tenant'', true)) = ''*'' OR EXISTS (SELECT FROM execution WHERE id = execution_id)');
SELECT guard_table('rule_state', '(SELECT current_setting(''mainspring.tenant'', true)) = ''*'' OR EXISTS (SELECT FROM rule WHERE id = rule_id)');
SELECT guard_table('execution_entry', '(SELECT current_setting(''mainspring.tenant'', true)) = ''*'' OR EXISTS (SELECT FROM execution WHERE id = execution_id)');
