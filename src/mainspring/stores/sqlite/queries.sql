-- name: next_claimable
-- When the next endpoint will become claimable. One that is claimable already waits for a place, not for the clock.
SELECT MIN(claimable_at) FROM schedule WHERE claimable_at > :now AND claimable_at IS NOT NULL;

-- name: any_due
-- Whether there is anything to claim.
SELECT 1 FROM schedule WHERE claimable_at <= :now AND claimable_at IS NOT NULL LIMIT 1;

-- name: next_hint_expiry
-- When the earliest hint expires.
SELECT MIN(hint_expires_at) FROM schedule WHERE hint_expires_at IS NOT NULL;

-- name: due
-- Due endpoints after a place in the order of due times, oldest first, with their paces. PostgreSQL reads several
-- windows in one LATERAL join, which SQLite lacks; here a query costs microseconds. The write transaction is the lock.
SELECT id, tenant_id, host, claimable_at, {{pace}}, revision, rowid FROM schedule
WHERE claimable_at <= :now AND claimable_at IS NOT NULL AND (claimable_at, rowid) > (:after_at, :after_lot)
ORDER BY claimable_at, rowid LIMIT :limit;

-- name: flights_to_hosts
-- The number of runs in flight to each of these hosts, counted up to the largest of their limits.
SELECT value, (SELECT COUNT(*) FROM (SELECT 1 FROM schedule WHERE host = value AND lease_until > :now AND lease_until IS NOT NULL
                                     LIMIT :cap))
FROM json_each(:hosts);

-- name: flights_of_tenants
-- The number of runs in flight of each of these tenants, counted up to the limit, and how many of them are not quick.
SELECT tenant_id, COUNT(*), SUM({{is_slow}}) FROM json_each(:tenants) CROSS JOIN schedule ON schedule.rowid IN (
    SELECT held.rowid FROM schedule AS held WHERE held.tenant_id = value AND lease_until > :now AND lease_until IS NOT NULL
    LIMIT :per_tenant)
GROUP BY tenant_id;

-- name: pay_starts
-- Move the time up to which a host's starts are paid for.
INSERT INTO host_rate (host, paid_until) VALUES (:host, :paid_until)
ON CONFLICT (host) DO UPDATE SET paid_until = excluded.paid_until;

-- name: revisions
-- The revisions of endpoints; the write transaction is the lock.
SELECT id, revision FROM schedule WHERE id IN (SELECT value FROM json_each(:ids));

-- name: write_leases
-- Write everything ordinary claims change, in one statement.
UPDATE schedule SET revision = revision + 1, claim_epoch = claim_epoch + 1, claimed_by = :worker, {{lease_assignments}}
FROM (SELECT {{lease_values}} FROM jsonb_each(:rows)) AS new WHERE schedule.id = new.id;

-- name: open_runs
-- Insert the runs that leased rows start.
INSERT INTO run (id, tenant_id, endpoint_id, slot_at, attempt, trigger, source, status, started_at, claim_epoch, worker,
                 missed_count, trail, detail)
SELECT run_id, tenant_id, id, slot_at, attempt, CASE WHEN attempt > 1 THEN 'retry' ELSE trigger END, source,
       'running', :now, claim_epoch, claimed_by, 0, trail, '{}'
FROM schedule WHERE id IN (SELECT value FROM json_each(:ids));

-- name: write_outcomes
-- Write everything ordinary finishes change.
UPDATE schedule SET revision = revision + 1, {{outcome_assignments}}
FROM (SELECT {{outcome_values}} FROM jsonb_each(:rows)) AS new WHERE schedule.id = new.id;

-- name: superseded_runs
-- Which of these runs are recorded as superseded.
SELECT id FROM run WHERE endpoint_id IN (SELECT value FROM json_each(:endpoint_ids)) AND id IN (SELECT value FROM json_each(:ids))
  AND status = 'superseded';

-- name: write_states
-- Write an endpoint's complete state; PostgreSQL takes many endpoints in one statement.
UPDATE schedule SET revision = revision + 1, {{state_assignments}} WHERE id = :id;

-- name: lock_job
-- The status of a job; the write transaction is the lock.
SELECT job.status FROM job JOIN tenant ON tenant.id = job.tenant_id WHERE job.tenant_id = :tenant_id AND job.id = :id;

-- name: expired_hints
-- Endpoints with an expired hint.
SELECT id FROM schedule WHERE hint_expires_at <= :now AND hint_expires_at IS NOT NULL LIMIT :limit;

-- name: close_run
-- Close the run of a lost worker.
UPDATE run SET status = :status, error_code = 'lost_worker', error = :error, finished_at = :now
WHERE tenant_id = :tenant_id AND id = :id AND status = 'running';

-- name: write_results
-- Write the results of runs, once, also if a run was given up meanwhile. JSON has no bytes: bodies are hexadecimal,
-- long ones are written by `add_body`.
UPDATE run SET {{result_assignments}}
FROM (SELECT {{result_values}} FROM jsonb_each(:rows)) AS new
WHERE run.tenant_id = new.tenant_id AND run.id = new.id
  AND (run.status IN ('running', 'abandoned', 'unknown') OR run.error_code = 'zombie');

-- name: look_endpoints_of_job
-- The same for a job.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE +endpoint.tenant_id = :tenant_id AND job_id = :job_id AND archived_at IS NULL AND call_key IS NULL
  AND {{in_state}}
  AND {{has_text}}
  AND name > :after_name
ORDER BY name LIMIT :limit;

-- name: recent_runs
-- The results of the newest runs of each of these endpoints, newest first. CROSS JOIN prevents a scan of all runs.
SELECT wanted.value, run.id, run.status, run.duration_ms
FROM json_each(:endpoint_ids) AS wanted CROSS JOIN run ON run.tenant_id = :tenant_id AND run.id IN
  (SELECT newest.id FROM run AS newest WHERE newest.endpoint_id = wanted.value ORDER BY newest.id DESC LIMIT :limit)
ORDER BY run.id DESC;

-- name: count_runs
-- The number of runs that started in each hour, by status.
SELECT (started_at - :since) / 3600000000 AS hour, status, COUNT(*) FROM run
WHERE tenant_id = :tenant_id AND id >= :from AND id < :before GROUP BY 1, 2;

-- name: forget_answers
-- Delete responses of expired idempotency keys, one batch.
DELETE FROM answer WHERE rowid IN (SELECT rowid FROM answer WHERE expires_at <= :now LIMIT 100);

-- name: insert_events
-- Insert the events of a transaction; with a single writer, the order of numbers is the order of commits.
INSERT INTO event ({{event_columns}}) VALUES ({{event_parameters}});

-- name: events_after
-- Events in order, of all tenants.
SELECT seq, events FROM event WHERE seq >= :cursor ORDER BY seq LIMIT :limit;

-- name: events_of_tenant_after
-- The same for one tenant, by a separate index, so that events of other tenants cost nothing.
SELECT seq, events FROM event WHERE tenant_id = :tenant_id AND seq >= :cursor ORDER BY seq LIMIT :limit;

-- name: latest_events
-- The newest events, newest first, of all tenants.
SELECT seq, events FROM event ORDER BY seq DESC LIMIT :limit;

-- name: latest_events_of_tenant
-- The same for one tenant.
SELECT seq, events FROM event WHERE tenant_id = :tenant_id ORDER BY seq DESC LIMIT :limit;

-- name: count_usage
-- Add to the usage of tenants this month, in rows of this worker. WHERE: otherwise SQLite parses ON as part of a join.
INSERT INTO usage (tenant_id, month, worker, runs)
SELECT value ->> 0, :month, :worker, value ->> 1 FROM json_each(:started) WHERE true
ON CONFLICT (tenant_id, month, worker) DO UPDATE SET runs = runs + excluded.runs;

-- name: sweep_runs
-- Delete runs past their retention, one batch; ids sort by time.
DELETE FROM run WHERE rowid IN (
    SELECT rowid FROM run WHERE tenant_id = :tenant_id AND id < :before AND status <> 'running' LIMIT :limit);

-- name: sweep_bodies
-- Remove bodies past their retention, one batch.
UPDATE run SET body = NULL WHERE rowid IN (
    SELECT rowid FROM run WHERE tenant_id = :tenant_id AND id < :before AND body IS NOT NULL LIMIT :limit);

-- name: sweep_surplus
-- Delete an endpoint's runs beyond its newest ones, one batch.
DELETE FROM run WHERE rowid IN (
    SELECT rowid FROM run WHERE endpoint_id = :endpoint_id AND status <> 'running' AND id < (
        SELECT id FROM run WHERE endpoint_id = :endpoint_id ORDER BY id DESC LIMIT 1 OFFSET :most - 1)
    LIMIT :limit);

-- name: sweep_events
-- Delete events past their retention, one batch; they are stored in order, so the oldest come first.
-- parameters: before, limit
DELETE FROM event WHERE seq IN (
    SELECT seq FROM (SELECT seq, at FROM event ORDER BY seq LIMIT :limit) WHERE at < :before);

-- name: free_pages
-- The number of free pages of the file, and of all its pages.
SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count;

-- name: give_back_pages
-- Move pages from the end of the file into free ones, so that the file shrinks: 500 pages of 4 kB.
PRAGMA incremental_vacuum(500);

-- name: create_migration_table
-- Create the table of applied migrations.
CREATE TABLE IF NOT EXISTS schema_migration (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;

-- name: close_zombies
-- Close runs whose lease ended long ago.
UPDATE run SET status = 'timeout', error_code = 'zombie', finished_at = :now,
    error = 'no result came before the lease ended, nor for long after it'
WHERE status = 'running' AND (tenant_id, id) IN (
    SELECT schedule.tenant_id, run_id FROM schedule
    CROSS JOIN run AS open ON open.tenant_id = schedule.tenant_id AND open.id = run_id AND open.status = 'running'
    WHERE claimable_at < :before AND claimable_at IS NOT NULL AND lease_until IS NOT NULL LIMIT :limit)
RETURNING tenant_id, endpoint_id, id;
