-- Workflows: queries that differ from SQLite's. What a tick writes is sent as arrays, in one statement.

-- name: is_led_and_read_clock
-- Whether a partition's lease is not over.
SELECT 1 FROM workflow_partition WHERE partition = :partition
  AND lease_until_us > extract(epoch FROM COALESCE(:clock_override::timestamptz, clock_timestamp())) * 1000000;

-- name: outlook_and_read_clock
-- The time, the earliest tick at which an execution is ready, and the time of the oldest arrival that was not
-- processed.
SELECT clock_timestamp(),
    (SELECT tick FROM execution_ready WHERE partition = :partition ORDER BY tick LIMIT 1),
    (SELECT arrived_us FROM execution_arrival WHERE partition = :partition AND number IS NULL
     ORDER BY arrived_us LIMIT 1);

-- name: ready_by_time
-- Executions whose tick has come, with their states. The ids are an array, so that one walk over the index finds them.
SELECT id, tenant_id, workflow, version, state, ready_tick FROM execution WHERE id = ANY (ARRAY(
    SELECT execution_id FROM execution_ready WHERE partition = :partition AND tick <= :tick
    ORDER BY tick, execution_id LIMIT :limit))
ORDER BY ready_tick, id;

-- name: ready_states
-- The states of executions that a tick processes before their own tick.
SELECT id, tenant_id, workflow, version, state FROM execution WHERE id = ANY (:ids::text[]);

-- name: standing
-- The number of log entries of executions.
SELECT id, number FROM execution WHERE id = ANY (:ids::text[]);

-- name: new_arrivals
-- Arrivals of executions before this tick, in the order of arrival.
SELECT execution_id, id, kind, type, data, actor, occurred_at, arrived_us FROM execution_arrival
WHERE execution_id = ANY (:ids::text[]) AND number IS NULL AND arrived_us < :before_us
ORDER BY arrived_us, id;

-- name: begin_tick
-- Lock the partition if epoch and tick are still the writer's. Executions whose tick has come leave the queue, in one
-- walk from the first to the last, before their turns arrive; executions that joined between them stay. `unfenced` is
-- for a test only.
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
-- Compare and swap epoch and tick, so that a tick happens once, and insert its head. Returns how many arrivals the
-- partition has numbered. `unfenced` is for a test only, which shows that the comparison is needed.
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
-- Write executions after their turns, their new places in the queue, and their log. Old places that they have not left
-- yet, because something arrived before their tick, are looked up one by one (OFFSET prevents a join): a queue of
-- 100,000 is never walked. Entries are a separate list, because a list inside every turn costs the server half as much
-- again. The five hashes of an entry are 32 bytes each, and those of all entries are one value of bytes. Zeros are a
-- missing context, as for an execution that stopped before it began.
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
-- Number arrivals; the numbers never change.
UPDATE execution_arrival SET number = new.number, tick = new.tick
FROM unnest(:numbers::bigint[], :ticks::bigint[], :execution_ids::text[], :ids::text[])
    AS new (number, tick, execution_id, id)
WHERE execution_arrival.execution_id = new.execution_id AND execution_arrival.id = new.id;

-- name: put_effects
-- Insert effects to send, or to send again under the same key.
INSERT INTO execution_effect (key, execution_id, tenant_id, partition, step, visit, attempt, kind, request, idempotency,
    timeout_ms, due_us, tick, status, claim, worker)
SELECT new.*, 'ready', 0, '' FROM unnest(:keys::text[], :execution_ids::text[], :tenant_ids::text[],
    :partitions::bigint[], :steps::text[], :visits::bigint[], :attempts::bigint[], :kinds::text[], :requests::text[],
    :idempotencies::text[], :timeouts::bigint[], :due::bigint[], :ticks::bigint[]) AS new
ON CONFLICT (key) DO UPDATE SET attempt = excluded.attempt, request = excluded.request, due_us = excluded.due_us,
    tick = excluded.tick, status = 'ready', claim = execution_effect.claim + 1;

-- name: withdraw_effects
-- Withdraw effects that were not sent yet.
UPDATE execution_effect SET status = 'withdrawn' WHERE key = ANY (:keys::text[]) AND status = 'ready';

-- name: claim_effects
-- Lease effects that are ready, or whose sender was lost; the last column tells these apart.
UPDATE execution_effect SET claim = claim + 1, worker = :worker, status = 'sending',
    due_us = :now_us::bigint + (timeout_ms + :lease_ms::bigint) * 1000,
    tick = CASE status WHEN 'sending' THEN -1 ELSE 0 END
WHERE key IN (SELECT key FROM execution_effect WHERE status IN ('ready', 'sending') AND due_us <= :now_us
              ORDER BY due_us LIMIT :limit FOR UPDATE SKIP LOCKED)
RETURNING key, execution_id, tenant_id, partition, step, visit, attempt, kind, request, idempotency, timeout_ms, claim,
    tick < 0;

-- name: lock_publishing
-- Let one process at a time publish for a tenant: the next version is the newest plus one.
SELECT pg_advisory_xact_lock(hashtext(:tenant_id::text || ' workflow ' || :name::text));

-- name: lock_start
-- Let one process at a time start an execution that must be the only one with its correlation key.
SELECT pg_advisory_xact_lock(hashtext(:tenant_id::text || ' start ' || :workflow::text || ' ' || :correlation::text));
