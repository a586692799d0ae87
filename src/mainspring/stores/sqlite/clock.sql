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

-- name: bring_deliveries_back
-- Deliveries that a clock ahead of time has put off. The second condition on `status` repeats that of the index.
UPDATE delivery SET next_attempt_at = MAX(:now, next_attempt_at - :back_us)
WHERE status = 'pending' AND status IN ('pending', 'held') AND next_attempt_at > :soon;
