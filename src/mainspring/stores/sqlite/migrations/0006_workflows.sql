-- Workflows: versions, executions and their logs, what arrives, what is to be sent, and the ticks of each partition.
-- Instants are microseconds since 1970 (..._us): they stand beside what is hashed, and only the ticker compares them.
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

-- One writer each: whoever leads holds the lease, and every tick compares and sets (epoch, tick).
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
    state           TEXT NOT NULL
) STRICT;
CREATE INDEX execution_ready ON execution (partition, ready_tick, id) WHERE ready_tick IS NOT NULL;
CREATE INDEX execution_by_tenant ON execution (tenant_id, id);
CREATE INDEX execution_by_correlation ON execution (tenant_id, correlation) WHERE correlation <> '';
CREATE UNIQUE INDEX execution_once ON execution (tenant_id, workflow, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX execution_ended ON execution (partition, moved_us) WHERE status IN ('completed', 'cancelled');

CREATE TABLE execution_entry (
    execution_id TEXT NOT NULL,
    number       INTEGER NOT NULL,
    tick         INTEGER NOT NULL,
    step         TEXT NOT NULL,
    action       TEXT NOT NULL,
    input_hash   TEXT NOT NULL,
    output_hash  TEXT NOT NULL,
    context      TEXT NOT NULL,
    previous     TEXT NOT NULL,
    hash         TEXT NOT NULL,
    input        TEXT,
    output       TEXT,
    PRIMARY KEY (execution_id, number)
) STRICT;

-- What reached an execution. The writer of its partition numbers it when it takes it.
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
