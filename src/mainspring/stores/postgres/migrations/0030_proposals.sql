-- The planner's mode `ask`.
ALTER TABLE planner_mode DROP CONSTRAINT planner_mode_mode_check;
ALTER TABLE planner_mode ADD CONSTRAINT planner_mode_mode_check CHECK (mode IN ('live', 'ask', 'shadow', 'off'));
ALTER TABLE planner_session DROP CONSTRAINT planner_session_mode_check;
ALTER TABLE planner_session ADD CONSTRAINT planner_session_mode_check CHECK (mode IN ('live', 'ask', 'shadow'));

-- What advice would do in mode `ask`, until a person decides or it expires.
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
