-- name: newest_event
-- The place of the newest event.
SELECT COALESCE(MAX(seq), 0) FROM event;

-- name: last_place
-- The place of the newest event.
SELECT COALESCE(MAX(seq), 0) FROM event;

-- name: planner_events
-- What happened after a place; of tenants without rules only that something did, so that the cursor passes it.
SELECT seq, CASE WHEN tenant_id IN (SELECT tenant_id FROM rule) THEN events END FROM event
WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: put_rule_states
-- What a rule remembers about an endpoint, unless it was removed meanwhile.
INSERT INTO rule_state (rule_id, endpoint_id, streak, fired_at, fault, refused)
SELECT :rule_id, :endpoint_id, :streak, :fired_at, :fault, :refused WHERE EXISTS (SELECT 1 FROM rule WHERE id = :rule_id)
ON CONFLICT (rule_id, endpoint_id) DO UPDATE SET streak = excluded.streak, fired_at = excluded.fired_at,
    fault = excluded.fault, refused = excluded.refused;

-- name: newest_results
-- An endpoint's newest runs that ended by a call of the schedule; PostgreSQL takes many endpoints in one statement.
-- parameters: endpoint_id, limit, headers, upto
SELECT id, endpoint_id, status, status_code, finished_at, duration_ms, body,
       CASE WHEN :headers THEN detail ELSE '' END FROM run
WHERE endpoint_id = :endpoint_id AND id <= :upto AND {{has_result}}
  AND trigger <> 'test'
ORDER BY id DESC LIMIT :limit;

-- name: shadow_events
-- What was told of shadow mode before a place, newest first; the words of the index, or it is not used.
SELECT seq, events FROM event WHERE tenant_id = :tenant_id AND instr(events, '"shadow":true') > 0 AND seq < :before
ORDER BY seq DESC LIMIT :limit;
