-- What advice may do to an endpoint, as its owner decides: a list of words.
ALTER TABLE endpoint ADD COLUMN advice text COLLATE "C" NOT NULL DEFAULT 'interval,run,wake,pause,siblings';

-- Sessions that were stopped by the switch, or that a budget ended.
ALTER TABLE planner_session DROP CONSTRAINT planner_session_status_check;
ALTER TABLE planner_session ADD CONSTRAINT planner_session_status_check
    CHECK (status IN ('done', 'incomplete', 'skipped', 'stopped', 'failed'));
