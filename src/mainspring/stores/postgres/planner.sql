-- name: newest_event
-- A cursor before every event that is still to come, in the order in which they are read.
SELECT '{{event_era}}.' || event_horizon();

-- name: planner_events
-- What happened after a place; of tenants without rules only that something did, so that the cursor passes it.
SELECT tx::text || '.' || seq, CASE WHEN tenant_id IN (SELECT tenant_id FROM rule) THEN events END FROM event
WHERE (tx, seq) > (:tx::text::xid8, :seq) AND (tx, seq) <= ('{{event_era}}'::xid8, :horizon)
ORDER BY tx, seq LIMIT :limit;

-- name: put_rule_states
-- What rules remember about endpoints, unless they were removed meanwhile.
INSERT INTO rule_state (rule_id, endpoint_id, streak, fired_at, fault, refused)
SELECT new.* FROM unnest(:rule_ids::text[], :endpoint_ids::text[], :streaks::bigint[], :fired_ats::timestamptz[],
                         :faults::text[], :refusals::text[]) AS new (rule_id, endpoint_id, streak, fired_at, fault, refused)
WHERE EXISTS (SELECT 1 FROM rule WHERE id = new.rule_id)
ON CONFLICT (rule_id, endpoint_id) DO UPDATE SET streak = excluded.streak, fired_at = excluded.fired_at,
    fault = excluded.fault, refused = excluded.refused;

-- name: newest_results
-- The newest runs of endpoints that ended by a call of the schedule.
SELECT newest.* FROM unnest(:ids::text[], :limits::bigint[], :headers::boolean[], :upto::text[])
    WITH ORDINALITY AS wanted (id, most, headers, upto, place)
CROSS JOIN LATERAL (
    SELECT id, endpoint_id, status, status_code, finished_at, duration_ms, body,
           CASE WHEN wanted.headers THEN detail ELSE '' END FROM run
    WHERE endpoint_id = wanted.id AND id <= wanted.upto COLLATE "C"
      AND status IN ('success', 'failure', 'timeout', 'blocked') AND trigger <> 'test'
    ORDER BY id DESC LIMIT wanted.most) AS newest
ORDER BY wanted.place, newest.id DESC;

-- name: shadow_events
-- What was told of shadow mode before a place, newest first; the words of the index, or it is not used. `event.tx`, for
-- `tx` would be the text.
SELECT tx::text, seq, events FROM event
WHERE tenant_id = :tenant_id AND strpos(events, '"shadow":true') > 0
  AND (:tx::text IS NULL OR (tx, seq) < (:tx::text::xid8, :seq::bigint))
ORDER BY event.tx DESC, seq DESC LIMIT :limit;
