-- Steps of the clock, and the repairs after them.

-- name: clock_reports
-- The newest reports since a time, newest first.
SELECT id, at, kind, ms, worker, changed FROM clock_report WHERE at >= :since ORDER BY at DESC, id DESC LIMIT :limit;

-- name: count_clock_report
-- Add to the number of endpoints or partitions that were changed because of a step.
UPDATE clock_report SET changed = changed + :changed WHERE id = :id;

-- name: forget_clock_reports
-- Delete old reports, and those dated by a clock that was far ahead.
DELETE FROM clock_report WHERE at < :before;

-- name: bring_effects_back
-- Make effects ready that were delayed while the clock was ahead.
UPDATE execution_effect SET due_us = CASE WHEN due_us - :back_us < :now_us THEN :now_us ELSE due_us - :back_us END
WHERE status IN ('ready', 'sending') AND due_us > :soon_us;

-- name: bring_partitions_back
-- End leases of partitions that were given while the clock was ahead.
UPDATE workflow_partition SET lease_until_us = :now_us WHERE lease_until_us > :latest_us;

-- name: partition_clocks
-- The tick that every partition has reached, and the time it counts from.
SELECT partition, tick, zero_us, resolution_ms FROM workflow_partition ORDER BY partition;

-- name: partition_zeros
-- The repairs of a partition: from which tick on it counts from which time.
SELECT from_tick, zero_us FROM partition_zero WHERE partition = :partition ORDER BY from_tick;

-- name: add_partition_zero
-- Insert a repair of a partition: from this tick on it counts from another time.
INSERT INTO partition_zero (partition, from_tick, zero_us) VALUES (:partition, :from_tick, :zero_us)
ON CONFLICT (partition, from_tick) DO NOTHING;

-- name: move_partition_zero
-- Count from another time, under a new epoch and without a lease, if the tick is unchanged since it was read.
UPDATE workflow_partition SET zero_us = :zero_us, epoch = epoch + 1, lease_until_us = 0, worker = ''
WHERE partition = :partition AND tick = :tick;

-- name: count_moved_ahead
-- The number of executions that moved while the clock was ahead.
SELECT COUNT(*) FROM execution WHERE partition = :partition AND moved_us > :soon_us;

-- name: waiting_executions
-- A page of the executions that wait for a later tick, and when their wait began; see `WAIT_ACTIONS`.
SELECT id, ready_tick, state, created_us,
    (SELECT MAX(tick) FROM execution_entry WHERE execution_id = execution.id AND action IN ('wait', 'wait_for', 'result'))
FROM execution WHERE partition = :partition AND (ready_tick > :tick OR status = 'paused') AND id > :after
ORDER BY id LIMIT :limit;

-- name: put_waiting_execution
-- Set the tick that an execution waits for.
UPDATE execution SET ready_tick = :ready_tick, state = :state WHERE id = :id;

-- name: date_arrivals_now
-- Date arrivals now that arrived while the clock was ahead.
UPDATE execution_arrival SET arrived_us = :now_us
WHERE partition = :partition AND number IS NULL AND arrived_us > :soon_us;

-- name: move_place
-- Set an execution's place in the queue.
UPDATE execution_ready SET tick = :ready_tick
WHERE partition = :partition AND tick = :old_tick AND execution_id = :execution_id;

-- name: bring_workers_back
-- Date heartbeats now that were written while the clock was ahead: a process that has died is silent from now on.
UPDATE worker SET seen_at = :now WHERE seen_at > :soon;

-- name: endpoints_ahead
-- A page of the endpoints that wait for a time after now. The caller decides which of them wait too long.
SELECT id FROM schedule WHERE id > :after
  AND (next_run_at > :soon OR manual_at > :soon OR lease_until > :soon OR anchor_at > :soon)
ORDER BY id LIMIT :limit;

-- name: slots_ahead
-- The first and the last slot after now that each of these endpoints has already run.
SELECT endpoint_id, MIN(slot_at), MAX(slot_at) FROM run
WHERE endpoint_id {{in_ids}} AND id >= :floor AND slot_at > :now
  AND status <> 'missed' AND trigger NOT IN ('manual', 'test') GROUP BY endpoint_id;
