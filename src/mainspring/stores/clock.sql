-- Steps of the clock, and what was repaired after them.

-- name: clock_reports
-- The newest reports since then, newest first.
SELECT id, at, kind, ms, worker, changed FROM clock_report WHERE at >= :since ORDER BY at DESC, id DESC LIMIT :limit;

-- name: count_clock_report
-- More endpoints or partitions were changed because of it.
UPDATE clock_report SET changed = changed + :changed WHERE id = :id;

-- name: forget_clock_reports
-- Reports of long ago, and those that a clock far ahead has dated.
DELETE FROM clock_report WHERE at < :before;

-- name: bring_effects_back
-- Effects that a clock ahead of time has put off.
UPDATE execution_effect SET due_us = CASE WHEN due_us - :back_us < :now_us THEN :now_us ELSE due_us - :back_us END
WHERE status IN ('ready', 'sending') AND due_us > :soon_us;

-- name: bring_partitions_back
-- Leases of partitions that a clock ahead of time has given.
UPDATE workflow_partition SET lease_until_us = :now_us WHERE lease_until_us > :latest_us;

-- name: partition_clocks
-- Which tick every partition has reached, and from which instant it counts.
SELECT partition, tick, zero_us, resolution_ms FROM workflow_partition ORDER BY partition;

-- name: partition_zeros
-- From which tick on a repaired partition counts from which instant.
SELECT from_tick, zero_us FROM partition_zero WHERE partition = :partition ORDER BY from_tick;

-- name: add_partition_zero
-- A partition counts from another instant from this tick on.
INSERT INTO partition_zero (partition, from_tick, zero_us) VALUES (:partition, :from_tick, :zero_us)
ON CONFLICT (partition, from_tick) DO NOTHING;

-- name: move_partition_zero
-- Count from another instant, under a new epoch and without a lease, where the tick is still the one that was seen.
UPDATE workflow_partition SET zero_us = :zero_us, epoch = epoch + 1, lease_until_us = 0, worker = ''
WHERE partition = :partition AND tick = :tick;

-- name: count_moved_ahead
-- How many executions moved while the clock was ahead.
SELECT COUNT(*) FROM execution WHERE partition = :partition AND moved_us > :soon_us;

-- name: waiting_executions
-- A page of the executions that wait for a later tick, and when their wait began; see `WAIT_ACTIONS`.
SELECT id, ready_tick, state, created_us,
    (SELECT MAX(tick) FROM execution_entry WHERE execution_id = execution.id AND action IN ('wait', 'wait_for', 'result'))
FROM execution WHERE partition = :partition AND (ready_tick > :tick OR status = 'paused') AND id > :after
ORDER BY id LIMIT :limit;

-- name: put_waiting_execution
-- It waits for the tick that its time has now.
UPDATE execution SET ready_tick = :ready_tick, state = :state WHERE id = :id;

-- name: date_arrivals_now
-- What arrived under a clock ahead of time has arrived now.
UPDATE execution_arrival SET arrived_us = :now_us
WHERE partition = :partition AND number IS NULL AND arrived_us > :soon_us;

-- name: move_place
-- Its place in the queue.
UPDATE execution_ready SET tick = :ready_tick
WHERE partition = :partition AND tick = :old_tick AND execution_id = :execution_id;

-- name: bring_workers_back
-- Heartbeats under a clock ahead of time count as beats of now: who is gone is silent from here on.
UPDATE worker SET seen_at = :now WHERE seen_at > :soon;

-- name: endpoints_ahead
-- A page of the endpoints that wait for an instant after now; which of them wait too long is not decided here.
SELECT id FROM schedule WHERE id > :after
  AND (next_run_at > :soon OR manual_at > :soon OR lease_until > :soon OR anchor_at > :soon)
ORDER BY id LIMIT :limit;

-- name: slots_ahead
-- The first and the last slot after now that each of these endpoints has run already.
SELECT endpoint_id, MIN(slot_at), MAX(slot_at) FROM run
WHERE endpoint_id {{in_ids}} AND id >= :floor AND slot_at > :now
  AND status <> 'missed' AND trigger NOT IN ('manual', 'test') GROUP BY endpoint_id;
