-- Workflows where PostgreSQL has words of its own: what a tick writes goes in as arrays, one statement for all.

-- name: is_led_and_read_clock
-- Whether a partition's lease is not over.
SELECT 1 FROM workflow_partition WHERE partition = :partition
  AND lease_until_us > extract(epoch FROM COALESCE(:clock_override::timestamptz, clock_timestamp())) * 1000000;

-- name: outlook_and_read_clock
-- What time it is, the earliest tick at which an execution wants to be looked at, and when the oldest arrival came that
-- was not taken yet.
SELECT clock_timestamp(),
    (SELECT tick FROM execution_ready WHERE partition = :partition ORDER BY tick LIMIT 1),
    (SELECT arrived_us FROM execution_arrival WHERE partition = :partition AND number IS NULL
     ORDER BY arrived_us LIMIT 1);

-- name: ready_by_time
-- Executions whose tick has come, with their states. As an array they are found in one walk over the index.
SELECT id, tenant_id, workflow, version, state, ready_tick FROM execution WHERE id = ANY (ARRAY(
    SELECT execution_id FROM execution_ready WHERE partition = :partition AND tick <= :tick
    ORDER BY tick, execution_id LIMIT :limit))
ORDER BY ready_tick, id;

-- name: ready_states
-- The states of the executions that a tick looks at although their time has not come.
SELECT id, tenant_id, workflow, version, state FROM execution WHERE id = ANY (:ids::text[]);

-- name: standing
-- How many entries executions have.
SELECT id, number FROM execution WHERE id = ANY (:ids::text[]);

-- name: new_arrivals
-- What came for them before this tick, in the order in which it came.
SELECT execution_id, id, kind, type, data, actor, occurred_at, arrived_us FROM execution_arrival
WHERE execution_id = ANY (:ids::text[]) AND number IS NULL AND arrived_us < :before_us
ORDER BY arrived_us, id;

-- name: begin_tick
-- The fence of a tick: only where epoch and tick are still the writer's, and nobody else may move it before we do. Those
-- whose time has come leave their places in the queue, in one walk from the first of them to the last, before their
-- turns are there; others that came to stand among them since stay. Unfenced is for a test alone.
WITH held AS (
    SELECT 1 FROM workflow_partition WHERE partition = :partition AND epoch = :epoch AND tick = :seen FOR UPDATE
), gone AS (
    DELETE FROM execution_ready
    WHERE ((SELECT COUNT(*) FROM held) > 0 OR :unfenced::boolean) AND partition = :partition
      AND (tick, execution_id) >= (:first_tick::bigint, :first_id::text)
      AND (tick, execution_id) <= (:last_tick::bigint, :last_id::text)
      AND jsonb_exists((SELECT :ids::text::jsonb), execution_id)
)
SELECT FROM held;

-- name: close_tick
-- The compare-and-set that makes a tick happen once, only where epoch and tick are still the writer's, and its head. How
-- many arrivals the partition has numbered by then. Unfenced is for a test alone: it shows what the comparison is for.
WITH moved AS (
    UPDATE workflow_partition SET tick = :tick, sequence = :sequence, head = :head, lease_until_us = :lease_until_us,
        arrivals = arrivals + :arrivals
    WHERE partition = :partition AND (epoch = :epoch AND tick = :seen OR :unfenced::boolean)
    RETURNING arrivals
)
INSERT INTO workflow_tick (partition, sequence, tick, heads, previous, hash, epoch, wall_us, worker)
SELECT :partition, :sequence, :tick, :heads, :previous, :head, :epoch, :wall_us::bigint, :worker FROM moved
RETURNING (SELECT arrivals FROM moved);

-- name: write_turns
-- Executions after their turns, their new places in the queue of those that are ready, and their log. Old places that
-- they have not left yet, because something arrived before their time, are looked up one by one (OFFSET keeps the planner
-- from joining): a queue in which 100,000 wait is never walked. Entries are a list of their own, for a list inside of
-- every turn costs the server half as much again. The five hashes of an entry lie one behind the other, 32 bytes each,
-- those of all entries in one text of bytes; zeros are a context that is not there, as of an execution that stopped
-- before it began.
WITH new AS MATERIALIZED (
    SELECT value->>0 AS id, value->>1 AS status, value->>2 AS step, (value->>3)::bigint AS ready_tick,
        (value->>4)::bigint AS number, value->>5 AS head, value->>6 AS outcome, value->>7 AS error, value->>8 AS state,
        (value->>9)::bigint AS ended_us, (value->>10)::bigint AS old_tick
    FROM jsonb_array_elements(:turns::text::jsonb) AS given (value)
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
        WHERE new.old_tick IS NOT NULL AND new.old_tick IS DISTINCT FROM new.ready_tick))
), queued AS (
    INSERT INTO execution_ready (partition, tick, execution_id)
    SELECT :partition::bigint, ready_tick, id FROM new
    WHERE ready_tick IS NOT NULL AND ready_tick IS DISTINCT FROM old_tick
)
INSERT INTO execution_entry (execution_id, number, tick, step, action, input_hash, output_hash, context, previous, hash,
    input, output)
SELECT value->>0, (value->>1)::bigint, (value->>6)::bigint, value->>2, value->>3,
    substring(:hashes::bytea FROM at FOR 32), substring(:hashes FROM at + 32 FOR 32),
    COALESCE(NULLIF(substring(:hashes FROM at + 64 FOR 32), decode(repeat('00', 32), 'hex')), ''),
    substring(:hashes FROM at + 96 FOR 32), substring(:hashes FROM at + 128 FOR 32), value->>4, value->>5
FROM jsonb_array_elements(:entries::text::jsonb) WITH ORDINALITY AS entry (value, place)
    CROSS JOIN LATERAL (SELECT 160 * (place::int - 1) + 1) AS five (at);

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
