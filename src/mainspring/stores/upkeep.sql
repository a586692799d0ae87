-- name: forget_workers
-- Delete workers that were last seen long ago.
DELETE FROM worker WHERE seen_at < :before;

-- name: forget_usage
-- Delete the usage of months long past.
DELETE FROM usage WHERE month < :before;

-- name: forget_host_rates
-- Delete the rates of hosts without recent starts: a time in the past has no effect.
DELETE FROM host_rate WHERE paid_until < :before;

-- name: crowded_endpoints
-- Endpoints to check for too many runs: a page of ids after the last one checked.
SELECT id FROM endpoint WHERE id > :after ORDER BY id LIMIT :limit;

-- name: done_endpoints
-- Endpoints whose single run was before a time, without those that a document describes.
SELECT endpoint.tenant_id, endpoint.id, name FROM endpoint JOIN schedule USING (id)
WHERE once_at < :before AND managed_by = '' AND manual_at IS NULL AND lease_until IS NULL AND waiting = ''
  AND ({{is_done}} OR (call_key IS NOT NULL AND archived_at < :before))
  AND COALESCE(last_run_at, anchor_at) < :before
ORDER BY once_at LIMIT :limit;

-- name: running
-- The number of runs in flight.
SELECT COUNT(*) FROM schedule WHERE lease_until IS NOT NULL;

-- name: flights
-- Runs in flight by tenant, host and scheduler, whether they are slow, and whether they started before `since`.
SELECT schedule.tenant_id, host, claimed_by, {{is_slow}}, COALESCE(run.started_at <= :since, false), COUNT(*)
FROM schedule LEFT JOIN run ON run.tenant_id = schedule.tenant_id AND run.id = schedule.run_id
WHERE lease_until IS NOT NULL AND lease_until > :now GROUP BY 1, 2, 3, 4, 5;

-- name: installation
-- A value of the installation.
SELECT value FROM installation WHERE key = :key;

-- name: set_installation
-- Set a value of the installation, if it has none.
INSERT INTO installation (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING;

-- name: tenant_ids
-- The ids of all tenants.
SELECT id FROM tenant ORDER BY id;

-- name: applied_migrations
-- The applied migrations.
SELECT number FROM schema_migration;

-- name: add_migration
-- Record an applied migration.
INSERT INTO schema_migration (number, name, applied_at) VALUES (:number, :name, :applied_at);

-- name: host_rates
-- The times up to which starts of hosts with a rate are paid for, if they are in the future.
SELECT host, paid_until FROM host_rate WHERE paid_until > :now;

-- name: scheduler_places
-- The places of each scheduler with a recent heartbeat.
SELECT id, places FROM worker WHERE kind = 'scheduler' AND seen_at >= :since;

-- name: backlog
-- Endpoints that are overdue and not leased, by tenant.
SELECT tenant_id, COUNT(*), MIN(claimable_at) FROM schedule
WHERE claimable_at <= :before AND claimable_at IS NOT NULL AND lease_until IS NULL GROUP BY tenant_id;

-- name: waiting
-- Endpoints that are due and not started, by tenant, host and pace.
SELECT tenant_id, host, {{pace}}, COUNT(*), MIN(claimable_at) FROM schedule
WHERE claimable_at <= :before AND claimable_at IS NOT NULL GROUP BY 1, 2, 3;

-- name: move_marks
-- Whether the installation has moved away, is about to, or has not arrived yet.
SELECT key, value FROM installation WHERE key IN (:moved_to, :move, :drain_until);
