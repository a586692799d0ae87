-- name: newest_event
-- The position of the newest event.
SELECT COALESCE(MAX(seq), 0) FROM event;

-- name: last_place
-- The position of the newest event.
SELECT COALESCE(MAX(seq), 0) FROM event;

-- name: planner_events
-- Events after a position; without their text for tenants without rules, so that the cursor passes them.
SELECT seq, CASE WHEN tenant_id IN (SELECT tenant_id FROM rule) THEN events END FROM event
WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: put_rule_states
-- Store what a rule remembers about an endpoint, unless the rule was deleted meanwhile.
INSERT INTO rule_state (rule_id, endpoint_id, streak, fired_at, fault, refused)
SELECT :rule_id, :endpoint_id, :streak, :fired_at, :fault, :refused WHERE EXISTS (SELECT 1 FROM rule WHERE id = :rule_id)
ON CONFLICT (rule_id, endpoint_id) DO UPDATE SET streak = excluded.streak, fired_at = excluded.fired_at,
    fault = excluded.fault, refused = excluded.refused;

-- name: newest_results
-- An endpoint's newest runs that ended with a call of the schedule; PostgreSQL reads many endpoints in one statement.
-- parameters: endpoint_id, limit, headers, upto
SELECT id, endpoint_id, status, status_code, finished_at, duration_ms, body,
       CASE WHEN :headers THEN detail ELSE '' END FROM run
WHERE endpoint_id = :endpoint_id AND id <= :upto AND {{has_result}}
  AND trigger <> 'test'
ORDER BY id DESC LIMIT :limit;

-- name: shadow_events
-- Shadow-mode events before a position, newest first. The condition is that of the index, which is not used otherwise.
SELECT seq, events FROM event WHERE tenant_id = :tenant_id AND instr(events, '"shadow":true') > 0 AND seq < :before
ORDER BY seq DESC LIMIT :limit;
