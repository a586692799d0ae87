-- Workflows where PostgreSQL has words of its own: what a tick writes goes in as arrays, one statement for all.

-- name: ready_states
-- The states of the executions that a tick looks at.
SELECT id, tenant_id, state FROM execution WHERE id = ANY (:ids::text[]);

-- name: standing
-- How many entries executions have.
SELECT id, number FROM execution WHERE id = ANY (:ids::text[]);

-- name: new_arrivals
-- What came for them before this tick, in the order in which it came.
SELECT execution_id, id, kind, type, data, actor, occurred_at FROM execution_arrival
WHERE execution_id = ANY (:ids::text[]) AND number IS NULL AND arrived_us < :before_us
ORDER BY arrived_us, id;

-- name: move_executions
-- Executions after their turns, and their new places in the queue of those that are ready. Old places are looked up one
-- by one (OFFSET keeps the planner from joining): a queue in which 100,000 wait is never walked.
WITH new AS (
    SELECT * FROM unnest(:statuses::text[], :steps::text[], :ready_ticks::bigint[], :numbers::bigint[], :heads::text[],
        :outcomes::text[], :errors::text[], :states::text[], :ended::bigint[], :ids::text[], :old_ticks::bigint[])
        AS new (status, step, ready_tick, number, head, outcome, error, state, ended_us, id, old_tick)
), moved AS (
    UPDATE execution SET status = new.status, step = new.step, ready_tick = new.ready_tick, number = new.number,
        head = new.head, outcome = new.outcome, error = new.error, moved_us = :moved_us::bigint, state = new.state,
        ended_us = new.ended_us
    FROM new WHERE execution.id = new.id
), gone AS (
    DELETE FROM execution_ready WHERE ctid = ANY (ARRAY(
        SELECT place.ctid FROM new CROSS JOIN LATERAL (
            SELECT ctid FROM execution_ready
            WHERE partition = :partition::bigint AND tick = new.old_tick AND execution_id = new.id
            OFFSET 0) AS place
        WHERE new.old_tick IS DISTINCT FROM new.ready_tick))
)
INSERT INTO execution_ready (partition, tick, execution_id)
SELECT :partition::bigint, ready_tick, id FROM new
WHERE ready_tick IS NOT NULL AND ready_tick IS DISTINCT FROM old_tick;

-- name: take_arrivals
-- Arrivals get their numbers, which never change again.
UPDATE execution_arrival SET number = new.number, tick = new.tick
FROM unnest(:numbers::bigint[], :ticks::bigint[], :execution_ids::text[], :ids::text[])
    AS new (number, tick, execution_id, id)
WHERE execution_arrival.execution_id = new.execution_id AND execution_arrival.id = new.id;

-- name: put_effects
-- Effects to send, or to send again under the same key.
INSERT INTO execution_effect (key, execution_id, tenant_id, partition, step, visit, attempt, kind, request, idempotency,
    timeout_ms, due_us, tick, status, claim, worker)
SELECT new.*, 'ready', 0, '' FROM unnest(:keys::text[], :execution_ids::text[], :tenant_ids::text[],
    :partitions::bigint[], :steps::text[], :visits::bigint[], :attempts::bigint[], :kinds::text[], :requests::text[],
    :idempotencies::text[], :timeouts::bigint[], :due::bigint[], :ticks::bigint[]) AS new
ON CONFLICT (key) DO UPDATE SET attempt = excluded.attempt, request = excluded.request, due_us = excluded.due_us,
    tick = excluded.tick, status = 'ready', claim = execution_effect.claim + 1;

-- name: withdraw_effects
-- Effects that nobody wants any more, if they were not sent.
UPDATE execution_effect SET status = 'withdrawn' WHERE key = ANY (:keys::text[]) AND status = 'ready';

-- name: claim_effects
-- Lease effects that are ready, or whose sender was lost; the last column tells which.
UPDATE execution_effect SET claim = claim + 1, worker = :worker, status = 'sending',
    due_us = :now_us::bigint + (timeout_ms + :lease_ms::bigint) * 1000,
    tick = CASE status WHEN 'sending' THEN -1 ELSE 0 END
WHERE key IN (SELECT key FROM execution_effect WHERE status IN ('ready', 'sending') AND due_us <= :now_us
              ORDER BY due_us LIMIT :limit FOR UPDATE SKIP LOCKED)
RETURNING key, execution_id, tenant_id, partition, step, visit, attempt, kind, request, idempotency, timeout_ms, claim,
    tick < 0;

-- name: lock_publishing
-- One publisher of a tenant at a time: the next version is one more than the newest.
SELECT pg_advisory_xact_lock(hashtext(:tenant_id::text || ' workflow ' || :name::text));

-- name: lock_start
-- One starter at a time of those who want to be alone under a correlation key.
SELECT pg_advisory_xact_lock(hashtext(:tenant_id::text || ' start ' || :workflow::text || ' ' || :correlation::text));
