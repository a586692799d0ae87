-- name: forget_workers
-- Rows of workers that were last seen long ago.
DELETE FROM worker WHERE seen_at < :before;

-- name: forget_usage
-- What tenants used in months long past.
DELETE FROM usage WHERE month < :before;

-- name: forget_host_rates
-- Hosts that have had no start for long; what is paid for up to the past counts no more.
DELETE FROM host_rate WHERE paid_until < :before;

-- name: crowded_endpoints
-- Endpoints to check for too many runs: a page of ids after the last one checked.
SELECT id FROM endpoint WHERE id > :after ORDER BY id LIMIT :limit;

-- name: done_endpoints
-- Endpoints whose single run was before this; those that a document describes stay as long as it does.
SELECT endpoint.tenant_id, endpoint.id, name FROM endpoint JOIN schedule USING (id)
WHERE once_at < :before AND managed_by = '' AND manual_at IS NULL AND lease_until IS NULL AND waiting = ''
  AND ({{is_done}} OR (call_key IS NOT NULL AND archived_at < :before))
  AND COALESCE(last_run_at, anchor_at) < :before
ORDER BY once_at LIMIT :limit;

-- name: running
-- How many runs are in flight.
SELECT COUNT(*) FROM schedule WHERE lease_until IS NOT NULL;

-- name: flights
-- What is in flight, by tenant, host and scheduler, whether it is slow, and whether it has been since before `since`.
SELECT schedule.tenant_id, host, claimed_by, {{is_slow}}, COALESCE(run.started_at <= :since, false), COUNT(*)
FROM schedule LEFT JOIN run ON run.tenant_id = schedule.tenant_id AND run.id = schedule.run_id
WHERE lease_until IS NOT NULL AND lease_until > :now GROUP BY 1, 2, 3, 4, 5;

-- name: installation
-- A value of this installation.
SELECT value FROM installation WHERE key = :key;

-- name: set_installation
-- A value of this installation, if it has none yet.
INSERT INTO installation (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING;

-- name: tenant_ids
-- Every tenant's id.
SELECT id FROM tenant ORDER BY id;

-- name: applied_migrations
-- Which migrations this database has.
SELECT number FROM schema_migration;

-- name: add_migration
-- A migration was applied.
INSERT INTO schema_migration (number, name, applied_at) VALUES (:number, :name, :applied_at);

-- name: host_rates
-- Up to when the starts of hosts with a rate are paid for, where that is ahead.
SELECT host, paid_until FROM host_rate WHERE paid_until > :now;

-- name: scheduler_places
-- How many runs each scheduler that has beaten lately can have in flight.
SELECT id, places FROM worker WHERE kind = 'scheduler' AND seen_at >= :since;

-- name: backlog
-- What is due for longer than it should be and not leased, by tenant.
SELECT tenant_id, COUNT(*), MIN(claimable_at) FROM schedule
WHERE claimable_at <= :before AND claimable_at IS NOT NULL AND lease_until IS NULL GROUP BY tenant_id;

-- name: waiting
-- What is due and not started, by tenant, host and pace.
SELECT tenant_id, host, {{pace}}, COUNT(*), MIN(claimable_at) FROM schedule
WHERE claimable_at <= :before AND claimable_at IS NOT NULL GROUP BY 1, 2, 3;

-- name: move_marks
-- Whether the installation has moved, is about to, or has not arrived.
SELECT key, value FROM installation WHERE key IN (:moved_to, :move, :drain_until);
