-- Workflows: queries that differ from PostgreSQL's. Rows that a tick writes are bound one by one; lists are JSON.

-- name: ready_states
-- The states of the executions that a tick processes.
SELECT id, tenant_id, workflow, version, state FROM execution WHERE id IN (SELECT value FROM json_each(:ids));

-- name: standing
-- The number of log entries of executions.
SELECT id, number FROM execution WHERE id IN (SELECT value FROM json_each(:ids));

-- name: new_arrivals
-- Arrivals of executions before this tick, in the order of arrival.
SELECT execution_id, id, kind, type, data, actor, occurred_at, arrived_us FROM execution_arrival
WHERE execution_id IN (SELECT value FROM json_each(:ids)) AND number IS NULL AND arrived_us < :before_us
ORDER BY arrived_us, id;

-- name: move_execution
-- Write an execution after its turn.
UPDATE execution SET status = :status, step = :step, ready_tick = :ready_tick, number = :number, head = :head,
    outcome = :outcome, error = :error, state = :state, ended_us = :ended_us, moved_us = :moved_us WHERE id = :id;

-- name: leave_queue
-- Remove an execution from its old place in the queue.
DELETE FROM execution_ready WHERE partition = :partition AND tick = :tick AND execution_id = :execution_id;

-- name: join_queue
-- Insert the tick at which an execution is ready next.
INSERT INTO execution_ready (partition, tick, execution_id) VALUES (:partition, :tick, :execution_id);

-- name: add_entry
-- Insert an entry of a log.
INSERT INTO execution_entry (execution_id, number, tick, step, action, input_hash, output_hash, context, previous, hash,
    input, output)
VALUES (:execution_id, :number, :tick, :step, :action, :input_hash, :output_hash, :context, :previous, :hash, :input,
    :output);

-- name: take_arrival
-- Number an arrival; the number never changes.
UPDATE execution_arrival SET number = :number, tick = :tick WHERE execution_id = :execution_id AND id = :id;

-- name: put_effect
-- Insert an effect to send, or to send again under the same key.
INSERT INTO execution_effect (key, execution_id, tenant_id, partition, step, visit, attempt, kind, request, idempotency,
    timeout_ms, due_us, tick, status, claim, worker)
VALUES (:key, :execution_id, :tenant_id, :partition, :step, :visit, :attempt, :kind, :request, :idempotency,
    :timeout_ms, :due_us, :tick, 'ready', 0, '')
ON CONFLICT (key) DO UPDATE SET attempt = excluded.attempt, request = excluded.request, due_us = excluded.due_us,
    tick = excluded.tick, status = 'ready', claim = claim + 1;

-- name: withdraw_effect
-- Withdraw an effect that was not sent yet.
UPDATE execution_effect SET status = 'withdrawn' WHERE key = :key AND status = 'ready';

-- name: claim_effects
-- Lease effects that are ready, or whose sender was lost; the last column tells these apart.
UPDATE execution_effect SET claim = claim + 1, worker = :worker, due_us = :now_us + (timeout_ms + :lease_ms) * 1000,
    status = 'sending', tick = CASE status WHEN 'sending' THEN -1 ELSE 0 END
WHERE key IN (SELECT key FROM execution_effect WHERE status IN ('ready', 'sending') AND due_us <= :now_us
              ORDER BY due_us LIMIT :limit)
RETURNING key, execution_id, tenant_id, partition, step, visit, attempt, kind, request, idempotency, timeout_ms, claim,
    tick < 0;

-- name: led_partition
-- Whether a partition's lease is not over.
SELECT 1 FROM workflow_partition WHERE partition = :partition AND lease_until_us > :now_us;

-- name: tick_outlook
-- The earliest tick at which an execution is ready, and the time of the oldest arrival that was not processed.
SELECT (SELECT tick FROM execution_ready WHERE partition = :partition ORDER BY tick LIMIT 1),
    (SELECT arrived_us FROM execution_arrival WHERE partition = :partition AND number IS NULL ORDER BY arrived_us LIMIT 1);

-- name: ready_by_time
-- Executions whose tick has come.
SELECT tick, execution_id FROM execution_ready WHERE partition = :partition AND tick <= :tick
ORDER BY tick, execution_id LIMIT :limit;

-- name: move_partition
-- Compare and swap epoch and tick, so that a tick happens once.
UPDATE workflow_partition SET tick = :tick, sequence = :sequence, head = :head, lease_until_us = :lease_until_us,
    arrivals = arrivals + :arrivals
WHERE partition = :partition AND epoch = :epoch AND tick = :seen;

-- name: move_partition_unfenced
-- The same without comparing, for a test only, which shows that the comparison is needed.
UPDATE workflow_partition SET tick = :tick, sequence = :sequence, head = :head, lease_until_us = :lease_until_us,
    arrivals = arrivals + :arrivals
WHERE partition = :partition;

-- name: add_tick
-- Insert the head of a tick, chained to the previous one.
INSERT INTO workflow_tick (partition, sequence, tick, heads, previous, hash, epoch, wall_us, worker)
VALUES (:partition, :sequence, :tick, :heads, :previous, :hash, :epoch, :wall_us, :worker);

-- name: partition_arrivals
-- The number of arrivals that the writers of a partition have numbered.
SELECT arrivals FROM workflow_partition WHERE partition = :partition;
