-- Who is told of what, what is on its way to them, and how far the events have been taken in.
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
    UNIQUE (tenant_id, kind, name)
);

-- One row for one message to one receiver, whoever makes it and however often it is sent.
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
    UNIQUE (subscription_id, channel, key)
);
CREATE INDEX delivery_waiting ON delivery (next_attempt_at) WHERE status IN ('pending', 'held');
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

-- One row: the cursor of the last event that was taken in.
CREATE TABLE outbox_position (
    id     bigint PRIMARY KEY CHECK (id = 1),
    cursor text COLLATE "C" NOT NULL
);
