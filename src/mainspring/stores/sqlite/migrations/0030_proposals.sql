-- The planner's mode `ask`. SQLite changes no CHECK, so both tables are made again.
ALTER TABLE planner_mode RENAME TO planner_mode_before;
CREATE TABLE planner_mode (
    scope TEXT PRIMARY KEY,
    mode  TEXT NOT NULL CHECK (mode IN ('live', 'ask', 'shadow', 'off'))
) STRICT;
INSERT INTO planner_mode SELECT * FROM planner_mode_before;
DROP TABLE planner_mode_before;

DROP INDEX planner_session_by_endpoint;
DROP INDEX planner_session_by_tenant;
ALTER TABLE planner_session RENAME TO planner_session_before;
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
INSERT INTO planner_session SELECT * FROM planner_session_before;
DROP TABLE planner_session_before;
CREATE INDEX planner_session_by_endpoint ON planner_session (endpoint_id, id);
CREATE INDEX planner_session_by_tenant ON planner_session (tenant_id, id);

-- What advice would do in mode `ask`, until a person decides or it expires.
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
