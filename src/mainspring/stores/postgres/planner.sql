-- name: newest_event
-- A cursor before every future event, in the order in which events are read.
SELECT event_horizon();

-- name: planner_events
-- Events after a position; without their text for tenants without rules, so that the cursor passes them.
SELECT seq, CASE WHEN tenant_id IN (SELECT tenant_id FROM rule) THEN events END FROM event
WHERE seq > :after AND seq <= :horizon ORDER BY seq LIMIT :limit;

-- name: put_rule_states
-- Store what rules remember about endpoints, unless the rules were deleted meanwhile.
INSERT INTO rule_state (rule_id, endpoint_id, streak, fired_at, fault, refused)
SELECT new.* FROM unnest(:rule_ids::text[], :endpoint_ids::text[], :streaks::bigint[], :fired_ats::timestamptz[],
                         :faults::text[], :refusals::text[]) AS new (rule_id, endpoint_id, streak, fired_at, fault, refused)
WHERE EXISTS (SELECT 1 FROM rule WHERE id = new.rule_id)
ON CONFLICT (rule_id, endpoint_id) DO UPDATE SET streak = excluded.streak, fired_at = excluded.fired_at,
    fault = excluded.fault, refused = excluded.refused;

-- name: newest_results
-- The newest runs of endpoints that ended with a call of the schedule.
SELECT newest.* FROM unnest(:ids::text[], :limits::bigint[], :headers::boolean[], :upto::text[])
    WITH ORDINALITY AS wanted (id, most, headers, upto, place)
CROSS JOIN LATERAL (
    SELECT id, endpoint_id, status, status_code, finished_at, duration_ms, body,
           CASE WHEN wanted.headers THEN detail ELSE '' END FROM run
    WHERE endpoint_id = wanted.id AND id <= wanted.upto COLLATE "C"
      AND {{has_result}} AND trigger <> 'test'
    ORDER BY id DESC LIMIT wanted.most) AS newest
ORDER BY wanted.place, newest.id DESC;

-- name: shadow_events
-- Shadow-mode events before a position, newest first. The condition is that of the index, which is not used otherwise.
SELECT seq, events FROM event WHERE tenant_id = :tenant_id AND strpos(events, '"shadow":true') > 0 AND seq < :before
ORDER BY seq DESC LIMIT :limit;

-- name: hold_planner_modes
-- Prevent a switch of modes until the transaction ends; several transactions may hold this lock.
SELECT pg_advisory_xact_lock_shared(:key);

-- name: lock_planner_modes
-- Wait for the advice that is being committed under the present modes.
SELECT pg_advisory_xact_lock(:key);
