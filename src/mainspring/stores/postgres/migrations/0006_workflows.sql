-- Workflows: versions, executions and their logs, what arrives, what is to be sent, and the ticks of each partition.
-- Instants are microseconds since 1970 (..._us): they stand beside what is hashed, and only the ticker compares them.
CREATE TABLE workflow_version (
    tenant_id  text NOT NULL,
    name       text NOT NULL,
    version    bigint NOT NULL CHECK (version > 0),
    document   text NOT NULL,
    model      text NOT NULL,
    actor      text NOT NULL,
    created_us bigint NOT NULL,
    PRIMARY KEY (tenant_id, name, version)
);

-- One writer each: whoever leads holds the lease, and every tick compares and sets (epoch, tick).
CREATE TABLE workflow_partition (
    partition      bigint PRIMARY KEY CHECK (partition >= 0),
    zero_us        bigint NOT NULL,
    resolution_ms  bigint NOT NULL CHECK (resolution_ms > 0),
    epoch          bigint NOT NULL,
    tick           bigint NOT NULL,
    sequence       bigint NOT NULL,
    arrivals       bigint NOT NULL,
    head           text NOT NULL,
    lease_until_us bigint NOT NULL,
    worker         text NOT NULL
);

CREATE TABLE execution (
    id              text PRIMARY KEY,
    tenant_id       text NOT NULL,
    workflow        text NOT NULL,
    version         bigint NOT NULL,
    partition       bigint NOT NULL,
    correlation     text NOT NULL,
    idempotency_key text,
    salt            text NOT NULL,
    status          text NOT NULL CHECK (status IN ('pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled')),
    step            text NOT NULL,
    ready_tick      bigint,
    number          bigint NOT NULL,
    head            text NOT NULL,
    outcome         text NOT NULL,
    error           text NOT NULL,
    actor           text NOT NULL,
    created_us      bigint NOT NULL,
    moved_us        bigint NOT NULL,
    state           text NOT NULL
);
CREATE INDEX execution_ready ON execution (partition, ready_tick, id) WHERE ready_tick IS NOT NULL;
CREATE INDEX execution_by_tenant ON execution (tenant_id, id);
CREATE INDEX execution_by_correlation ON execution (tenant_id, correlation) WHERE correlation <> '';
CREATE UNIQUE INDEX execution_once ON execution (tenant_id, workflow, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX execution_ended ON execution (partition, moved_us) WHERE status IN ('completed', 'cancelled');

CREATE TABLE execution_entry (
    execution_id text NOT NULL,
    number       bigint NOT NULL,
    tick         bigint NOT NULL,
    step         text NOT NULL,
    action       text NOT NULL,
    input_hash   text NOT NULL,
    output_hash  text NOT NULL,
    context      text NOT NULL,
    previous     text NOT NULL,
    hash         text NOT NULL,
    input        text,
    output       text,
    PRIMARY KEY (execution_id, number)
);

-- What reached an execution. The writer of its partition numbers it when it takes it.
CREATE TABLE execution_arrival (
    execution_id text NOT NULL,
    id           text NOT NULL,
    partition    bigint NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('event', 'result', 'command')),
    type         text NOT NULL,
    data         text NOT NULL,
    actor        text NOT NULL,
    occurred_at  text NOT NULL,
    arrived_us   bigint NOT NULL,
    number       bigint,
    tick         bigint,
    PRIMARY KEY (execution_id, id)
);
CREATE INDEX execution_arrival_new ON execution_arrival (partition, arrived_us) WHERE number IS NULL;

CREATE TABLE execution_effect (
    key            text PRIMARY KEY,
    execution_id   text NOT NULL,
    tenant_id      text NOT NULL,
    partition      bigint NOT NULL,
    step           text NOT NULL,
    visit          bigint NOT NULL,
    attempt        bigint NOT NULL,
    kind           text NOT NULL,
    request        text NOT NULL,
    idempotency    text NOT NULL CHECK (idempotency IN ('at_least_once', 'at_most_once')),
    timeout_ms     bigint NOT NULL,
    status         text NOT NULL CHECK (status IN ('ready', 'sending', 'done', 'withdrawn')),
    claim          bigint NOT NULL,
    worker         text NOT NULL,
    due_us         bigint NOT NULL,
    tick           bigint NOT NULL
);
CREATE INDEX execution_effect_due ON execution_effect (due_us) WHERE status IN ('ready', 'sending');
CREATE INDEX execution_effect_of ON execution_effect (execution_id);

CREATE TABLE workflow_tick (
    partition bigint NOT NULL,
    sequence  bigint NOT NULL,
    tick      bigint NOT NULL,
    heads     text NOT NULL,
    previous  text NOT NULL,
    hash      text NOT NULL,
    epoch     bigint NOT NULL,
    wall_us   bigint NOT NULL,
    worker    text NOT NULL,
    PRIMARY KEY (partition, sequence)
);

CREATE TABLE workflow_checkpoint (
    partition  bigint NOT NULL,
    sequence   bigint NOT NULL,
    tick       bigint NOT NULL,
    head       text NOT NULL,
    signed_us  bigint NOT NULL,
    public_key text NOT NULL,
    signature  text NOT NULL,
    PRIMARY KEY (partition, sequence)
);
