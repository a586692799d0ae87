-- What advice may do to an endpoint, as its owner decides: a list of words.
ALTER TABLE endpoint ADD COLUMN advice TEXT NOT NULL DEFAULT 'interval,run,wake,pause,siblings';

-- Sessions that were stopped by the switch, or that a budget ended. SQLite changes no CHECK, so the table is made anew.
DROP INDEX planner_session_by_endpoint;
DROP INDEX planner_session_by_tenant;
ALTER TABLE planner_session RENAME TO planner_session_before;
CREATE TABLE planner_session (
    id               TEXT PRIMARY KEY,
    tenant_id        TEXT NOT NULL REFERENCES tenant (id),
    endpoint_id      TEXT NOT NULL REFERENCES endpoint (id) ON DELETE CASCADE,
    started_at       INTEGER NOT NULL,
    status           TEXT NOT NULL CHECK (status IN ('done', 'incomplete', 'skipped', 'stopped', 'failed')),
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
INSERT INTO planner_session SELECT * FROM planner_session_before;
DROP TABLE planner_session_before;
CREATE INDEX planner_session_by_endpoint ON planner_session (endpoint_id, id);
CREATE INDEX planner_session_by_tenant ON planner_session (tenant_id, id);
