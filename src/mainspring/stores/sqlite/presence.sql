-- Which processes are alive, and what dead ones held.

-- name: beat
-- Write the heartbeat of a process for one kind of work.
INSERT INTO worker (id, kind, places, started_at, seen_at) VALUES (:id, :kind, :places, :now, :now)
ON CONFLICT (id, kind) DO UPDATE SET seen_at = excluded.seen_at, places = excluded.places;

-- name: silent_workers
-- Other processes that are silent for too long, or that beat before a clock was set back.
SELECT DISTINCT id FROM worker WHERE id <> :worker AND abs(:now - seen_at) > :silent_us;

-- name: lost_workers
-- Which of these are still silent; the caller checks whether their files are locked.
SELECT DISTINCT id FROM worker WHERE id IN (SELECT value FROM json_each(:ids)) AND abs(:now - seen_at) > :silent_us;

-- name: alive
-- The work of processes with a heartbeat since a time.
SELECT id, kind, places, started_at, seen_at FROM worker WHERE seen_at >= :since ORDER BY started_at, id, kind;

-- name: leased_by
-- The endpoints that these workers run.
SELECT id FROM schedule WHERE lease_until IS NOT NULL AND claimed_by IN (SELECT value FROM json_each(:workers)) ORDER BY id;

-- name: free_partitions
-- Release partitions that these workers write.
UPDATE workflow_partition SET lease_until_us = 0
WHERE worker IN (SELECT value FROM json_each(:workers)) AND lease_until_us > 0;

-- name: free_effects
-- Release effects that these workers send.
UPDATE execution_effect SET due_us = :now_us
WHERE status = 'sending' AND worker IN (SELECT value FROM json_each(:workers));

-- name: free_deliveries
-- Release deliveries that these workers send.
UPDATE delivery SET next_attempt_at = :now, worker = ''
WHERE worker IN (SELECT value FROM json_each(:workers)) AND worker <> '' AND status = 'pending';

-- name: free_sessions
-- Release endpoints that a model analyses for these workers.
UPDATE analysis SET lease_until = NULL
WHERE worker IN (SELECT value FROM json_each(:workers)) AND lease_until IS NOT NULL;

-- name: forget_lost
-- Delete processes that hold nothing any more.
DELETE FROM worker WHERE id IN (SELECT value FROM json_each(:workers));
