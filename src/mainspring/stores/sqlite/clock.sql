-- Steps of the clock: queries that differ from PostgreSQL's.

-- name: newest_stored_at
-- The newest time that a process has stored: of a heartbeat, or of the last event.
SELECT MAX(at) FROM (
    SELECT MAX(seen_at) AS at FROM worker UNION ALL SELECT at FROM (SELECT at FROM event ORDER BY seq DESC LIMIT 1));

-- name: add_clock_report
-- Insert a report, unless another process has done so.
INSERT INTO clock_report (id, at, kind, ms, worker, changed)
SELECT :id, :at, :kind, :ms, :worker, :changed WHERE NOT EXISTS (
    SELECT 1 FROM clock_report WHERE kind = :kind AND at BETWEEN :earliest AND :latest AND (ms > 0) = (:ms > 0)
      AND (kind = 'step' OR worker = :worker));

-- name: bring_deliveries_back
-- Make deliveries due that were delayed while the clock was ahead. The second condition on `status` is that of the
-- index.
UPDATE delivery SET next_attempt_at = MAX(:now, next_attempt_at - :back_us)
WHERE status = 'pending' AND status IN ('pending', 'held') AND next_attempt_at > :soon;
