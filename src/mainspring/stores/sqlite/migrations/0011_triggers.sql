-- How far the events were looked through for what starts executions; and executions that wait for a person, found
-- without looking at all the others.
CREATE TABLE trigger_position (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    cursor TEXT NOT NULL
) STRICT;

CREATE INDEX execution_in_need ON execution (tenant_id, id) WHERE status IN ('failed', 'paused');
