-- What the planner keeps: rules and what they remember, how far it has read, who it may act for, and its sessions.
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
    PRIMARY KEY (rule_id, endpoint_id)
) STRICT;

-- Up to which event every finished run has been judged; moved only by whoever read from where it stands.
CREATE TABLE planner_cursor (
    name   TEXT PRIMARY KEY,
    cursor TEXT NOT NULL
) STRICT;

CREATE TABLE planner_mode (
    scope TEXT PRIMARY KEY,
    mode  TEXT NOT NULL CHECK (mode IN ('live', 'shadow', 'off'))
) STRICT;

-- When a model looks at an endpoint again, and who does so now.
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
    status           TEXT NOT NULL CHECK (status IN ('done', 'skipped', 'failed')),
    mode             TEXT NOT NULL CHECK (mode IN ('live', 'shadow')),
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
