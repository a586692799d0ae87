-- What the planner keeps: rules and what they remember, how far it has read, who it may act for, and its sessions.
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
    PRIMARY KEY (rule_id, endpoint_id)
);

-- Up to which event every finished run has been judged; moved only by whoever read from where it stands.
CREATE TABLE planner_cursor (
    name   text COLLATE "C" PRIMARY KEY,
    cursor text COLLATE "C" NOT NULL
);

CREATE TABLE planner_mode (
    scope text COLLATE "C" PRIMARY KEY,
    mode  text COLLATE "C" NOT NULL CHECK (mode IN ('live', 'shadow', 'off'))
);

-- When a model looks at an endpoint again, and who does so now.
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
    status           text COLLATE "C" NOT NULL CHECK (status IN ('done', 'skipped', 'failed')),
    mode             text COLLATE "C" NOT NULL CHECK (mode IN ('live', 'shadow')),
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
