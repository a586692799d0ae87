-- Steps of the clock: queries that differ from SQLite's.

-- name: newest_stored_at
-- The newest time that a process has stored: of a heartbeat, or of the last event.
SELECT GREATEST((SELECT MAX(seen_at) FROM worker), (SELECT at FROM event ORDER BY seq DESC LIMIT 1));

-- name: lock_clock_reports
-- Let one process at a time report.
SELECT pg_advisory_xact_lock(:key);

-- name: add_clock_report
-- Insert a report, unless another process has done so.
INSERT INTO clock_report (id, at, kind, ms, worker, changed)
SELECT :id::text, :at::timestamptz, :kind::text, :ms::bigint, :worker::text, :changed::bigint WHERE NOT EXISTS (
    SELECT 1 FROM clock_report WHERE kind = :kind AND at BETWEEN :earliest AND :latest AND (ms > 0) = (:ms > 0)
      AND (kind = 'step' OR worker = :worker));

-- name: bring_deliveries_back
-- Make deliveries due that were delayed while the clock was ahead.
UPDATE delivery SET next_attempt_at = GREATEST(:now::timestamptz, next_attempt_at - :back_us::bigint * interval '1 microsecond')
WHERE status = 'pending' AND next_attempt_at > :soon;
