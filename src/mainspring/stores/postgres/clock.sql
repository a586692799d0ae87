-- Steps of the clock, where the databases differ.

-- name: newest_stored_at
-- The newest instant that a process has stored: of a heartbeat, or of the last event.
SELECT GREATEST((SELECT MAX(seen_at) FROM worker), (SELECT at FROM event ORDER BY seq DESC LIMIT 1));

-- name: lock_clock_reports
-- One process at a time reports.
SELECT pg_advisory_xact_lock(:key);

-- name: add_clock_report
-- A report, unless another process has made it.
INSERT INTO clock_report (id, at, kind, ms, worker, changed)
SELECT :id::text, :at::timestamptz, :kind::text, :ms::bigint, :worker::text, :changed::bigint WHERE NOT EXISTS (
    SELECT 1 FROM clock_report WHERE kind = :kind AND at BETWEEN :earliest AND :latest AND (ms > 0) = (:ms > 0)
      AND (kind = 'step' OR worker = :worker));

-- name: bring_deliveries_back
-- Deliveries that a clock ahead of time has put off.
UPDATE delivery SET next_attempt_at = GREATEST(:now::timestamptz, next_attempt_at - :back_us::bigint * interval '1 microsecond')
WHERE status = 'pending' AND next_attempt_at > :soon;
