-- Steps of the clock, where the databases differ.

-- name: newest_stored_at
-- The newest instant that a process has stored: of a heartbeat, or of the last event.
SELECT MAX(at) FROM (
    SELECT MAX(seen_at) AS at FROM worker UNION ALL SELECT at FROM (SELECT at FROM event ORDER BY seq DESC LIMIT 1));

-- name: add_clock_report
-- A report, unless another process has made it.
INSERT INTO clock_report (id, at, kind, ms, worker, changed)
SELECT :id, :at, :kind, :ms, :worker, :changed WHERE NOT EXISTS (
    SELECT 1 FROM clock_report WHERE kind = :kind AND at BETWEEN :earliest AND :latest AND (ms > 0) = (:ms > 0)
      AND (kind = 'step' OR worker = :worker));

-- name: endpoints_ahead
-- A page of the endpoints that wait for an instant after now; which of them wait too long is not decided here.
SELECT id FROM schedule WHERE id > :after
  AND (next_run_at > :soon OR manual_at > :soon OR lease_until > :soon OR anchor_at > :soon)
ORDER BY id LIMIT :limit;

-- name: slots_ahead
-- The first and the last slot after now that an endpoint has run already.
SELECT MIN(slot_at), MAX(slot_at) FROM run WHERE endpoint_id = :endpoint_id AND id >= :floor AND slot_at > :now
  AND status <> 'missed' AND trigger NOT IN ('manual', 'test');

-- name: bring_workers_back
-- Heartbeats under a clock ahead of time count as beats of now: who is gone is silent from here on.
UPDATE worker SET seen_at = :now WHERE seen_at > :soon;

-- name: bring_deliveries_back
-- Deliveries that a clock ahead of time has put off.
UPDATE delivery SET next_attempt_at = MAX(:now, next_attempt_at - :back_us)
WHERE status = 'pending' AND status IN ('pending', 'held') AND next_attempt_at > :soon;
