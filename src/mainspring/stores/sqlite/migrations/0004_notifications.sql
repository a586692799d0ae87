-- Who is told of what, what is on its way to them, and how far the events have been taken in.
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
    UNIQUE (tenant_id, kind, name)
) STRICT;

-- One row for one message to one receiver, whoever makes it and however often it is sent.
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
    UNIQUE (subscription_id, channel, key)
) STRICT;
CREATE INDEX delivery_waiting ON delivery (next_attempt_at) WHERE status IN ('pending', 'held');
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

-- One row: the cursor of the last event that was taken in.
CREATE TABLE outbox_position (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    cursor TEXT NOT NULL
) STRICT;
