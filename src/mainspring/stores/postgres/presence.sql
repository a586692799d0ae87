-- Which processes are alive, and what dead ones held.

-- name: take_presence
-- Hold the lock of a process until its connection ends.
SELECT pg_advisory_lock({{presence_class}}, hashtext(:worker::text));

-- name: beat_and_read_clock
-- Write a heartbeat; return other processes that are silent for too long, or that beat before a clock was set back.
WITH clock AS MATERIALIZED (
    SELECT COALESCE(:clock_override::timestamptz, clock_timestamp()) AS now
), beat AS (
    INSERT INTO worker (id, kind, places, started_at, seen_at)
    SELECT :worker::text, kind, places, now, now FROM clock, unnest(:kinds::text[], :places::bigint[]) AS new (kind, places)
    ON CONFLICT (id, kind) DO UPDATE SET seen_at = excluded.seen_at, places = excluded.places
)
SELECT DISTINCT id FROM worker, clock
WHERE id <> :worker AND abs(extract(epoch FROM now - seen_at)) * 1000 > :silent_ms::bigint;

-- name: try_freeing_lock
-- Let one process at a time end the work of dead ones; never waits.
SELECT pg_try_advisory_xact_lock({{presence_class}}, 0);

-- name: lost_workers_and_read_clock
-- Which of these processes are dead: silent and without their lock. A server that has just started has no locks yet.
SELECT DISTINCT id FROM worker
WHERE id = ANY (:ids::text[])
  AND abs(extract(epoch FROM COALESCE(:clock_override::timestamptz, clock_timestamp()) - seen_at)) * 1000 > :silent_ms::bigint
  AND clock_timestamp() > pg_postmaster_start_time() + :settle_ms::bigint * interval '1 millisecond'
  AND NOT EXISTS (SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND classid = {{presence_class}} AND objsubid = 2
      AND objid = (hashtext(worker.id)::bigint & 4294967295)::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()));

-- name: alive_and_read_clock
-- The work of live processes: those with a recent heartbeat and, if the database can hold locks, their lock.
SELECT id, kind, places, started_at, seen_at FROM worker
WHERE seen_at >= COALESCE(:clock_override::timestamptz, clock_timestamp()) - :within_ms::bigint * interval '1 millisecond'
  AND (:without_lock::boolean OR EXISTS (SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND classid = {{presence_class}} AND objsubid = 2
      AND objid = (hashtext(worker.id)::bigint & 4294967295)::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())))
ORDER BY started_at, id, kind;

-- name: lock_leased_by
-- The endpoints that these workers run; skips rows that another transaction has locked.
SELECT id, revision FROM schedule WHERE lease_until IS NOT NULL AND claimed_by = ANY (:workers::text[])
ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: is_leased_by
-- Whether any endpoint is still leased to these workers.
SELECT EXISTS (SELECT FROM schedule WHERE lease_until IS NOT NULL AND claimed_by = ANY (:workers::text[]));

-- name: free_work
-- Release what else these workers hold: partitions, effects in flight, deliveries, model sessions.
WITH partitions AS (
    UPDATE workflow_partition SET lease_until_us = 0 WHERE worker = ANY (:workers::text[]) AND lease_until_us > 0 RETURNING 1
), effects AS (
    UPDATE execution_effect SET due_us = :now_us WHERE status = 'sending' AND worker = ANY (:workers) RETURNING 1
), deliveries AS (
    UPDATE delivery SET next_attempt_at = :now, worker = '' WHERE worker = ANY (:workers) AND status = 'pending' RETURNING 1
), sessions AS (
    UPDATE analysis SET lease_until = NULL WHERE worker = ANY (:workers) AND lease_until IS NOT NULL RETURNING 1
)
SELECT (SELECT COUNT(*) FROM partitions), (SELECT COUNT(*) FROM effects), (SELECT COUNT(*) FROM deliveries),
       (SELECT COUNT(*) FROM sessions);

-- name: forget_lost
-- Delete processes that hold nothing any more.
DELETE FROM worker WHERE id = ANY (:workers::text[]);
