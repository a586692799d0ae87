-- name: next_claimable
-- When the next endpoint will become claimable. What is so already waits for a place, not for the clock.
SELECT MIN(claimable_at) FROM schedule WHERE claimable_at > :now AND claimable_at IS NOT NULL;

-- name: any_due
-- Whether there is anything to claim.
SELECT 1 FROM schedule WHERE claimable_at <= :now AND claimable_at IS NOT NULL LIMIT 1;

-- name: next_hint_expiry
-- When the earliest hint's time runs out.
SELECT MIN(hint_expires_at) FROM schedule WHERE hint_expires_at IS NOT NULL;

-- name: due
-- Due endpoints after a place in the order of due times, oldest first, and the pace of each. PostgreSQL reads several
-- windows in one LATERAL join, which SQLite lacks; here a query costs microseconds. The write transaction is the lock.
SELECT id, tenant_id, host, claimable_at, {{pace}}, revision, rowid FROM schedule
WHERE claimable_at <= :now AND claimable_at IS NOT NULL AND (claimable_at, rowid) > (:after_at, :after_lot)
ORDER BY claimable_at, rowid LIMIT :limit;

-- name: flights_to_hosts
-- How many runs are in flight to each of these hosts, counted up to the largest of their caps.
SELECT value, (SELECT COUNT(*) FROM (SELECT 1 FROM schedule WHERE host = value AND lease_until > :now AND lease_until IS NOT NULL
                                     LIMIT :cap))
FROM json_each(:hosts);

-- name: flights_of_tenants
-- How many runs of each of these tenants are in flight, counted up to the cap, and how many of them are not quick.
SELECT tenant_id, COUNT(*), SUM({{is_slow}}) FROM json_each(:tenants) CROSS JOIN schedule ON schedule.rowid IN (
    SELECT held.rowid FROM schedule AS held WHERE held.tenant_id = value AND lease_until > :now AND lease_until IS NOT NULL
    LIMIT :per_tenant)
GROUP BY tenant_id;

-- name: pay_starts
-- Move on up to when a host's starts are paid for.
INSERT INTO host_rate (host, paid_until) VALUES (:host, :paid_until)
ON CONFLICT (host) DO UPDATE SET paid_until = excluded.paid_until;

-- name: revisions
-- At which revision endpoints are; the write transaction that reads them is the lock.
SELECT id, revision FROM schedule WHERE id IN (SELECT value FROM json_each(:ids));

-- name: write_leases
-- What ordinary claims change, all of them in one statement.
UPDATE schedule SET revision = revision + 1, claim_epoch = claim_epoch + 1, claimed_by = :worker, {{lease_assignments}}
FROM (SELECT {{lease_values}} FROM jsonb_each(:rows)) AS new WHERE schedule.id = new.id;

-- name: open_runs
-- The runs that leased rows start.
INSERT INTO run (id, tenant_id, endpoint_id, slot_at, attempt, trigger, source, status, started_at, claim_epoch, worker,
                 missed_count, trail, detail)
SELECT run_id, tenant_id, id, slot_at, attempt, CASE WHEN attempt > 1 THEN 'retry' ELSE trigger END, source,
       'running', :now, claim_epoch, claimed_by, 0, trail, '{}'
FROM schedule WHERE id IN (SELECT value FROM json_each(:ids));

-- name: write_outcomes
-- What ordinary finishes change.
UPDATE schedule SET revision = revision + 1, {{outcome_assignments}}
FROM (SELECT {{outcome_values}} FROM jsonb_each(:rows)) AS new WHERE schedule.id = new.id;

-- name: superseded_runs
-- Which of these runs are known to have come too late.
SELECT id FROM run WHERE endpoint_id IN (SELECT value FROM json_each(:endpoint_ids)) AND id IN (SELECT value FROM json_each(:ids))
  AND status = 'superseded';

-- name: write_states
-- An endpoint's whole state; PostgreSQL takes many endpoints in one statement.
UPDATE schedule SET revision = revision + 1, {{state_assignments}} WHERE id = :id;

-- name: lock_job
-- A job's status, which stays so until the transaction ends; and nobody else adds an endpoint for its tenant meanwhile.
SELECT job.status FROM job JOIN tenant ON tenant.id = job.tenant_id WHERE job.tenant_id = :tenant_id AND job.id = :id;

-- name: expired_hints
-- Endpoints with a hint whose time ran out.
SELECT id FROM schedule WHERE hint_expires_at <= :now AND hint_expires_at IS NOT NULL LIMIT :limit;

-- name: close_run
-- A run whose worker was lost.
UPDATE run SET status = :status, error_code = 'lost_worker', error = :error, finished_at = :now
WHERE tenant_id = :tenant_id AND id = :id AND status = 'running';

-- name: write_results
-- How runs ended; written once, also where a run was given up for lost in the meantime. JSON has no bytes: bodies come in
-- hexadecimal, long ones by `add_body`.
UPDATE run SET {{result_assignments}}
FROM (SELECT {{result_values}} FROM jsonb_each(:rows)) AS new
WHERE run.tenant_id = new.tenant_id AND run.id = new.id
  AND (run.status IN ('running', 'abandoned', 'unknown') OR run.error_code = 'zombie');

-- name: look_endpoints_of_job
-- The same of a job.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE +endpoint.tenant_id = :tenant_id AND job_id = :job_id AND archived_at IS NULL AND call_key IS NULL
  AND {{in_state}}
  AND {{has_text}}
  AND name > :after_name
ORDER BY name LIMIT :limit;

-- name: recent_runs
-- How the newest runs of each of these endpoints ended, newest first. CROSS JOIN: else it goes through all runs.
SELECT wanted.value, run.id, run.status, run.duration_ms
FROM json_each(:endpoint_ids) AS wanted CROSS JOIN run ON run.tenant_id = :tenant_id AND run.id IN
  (SELECT newest.id FROM run AS newest WHERE newest.endpoint_id = wanted.value ORDER BY newest.id DESC LIMIT :limit)
ORDER BY run.id DESC;

-- name: count_runs
-- How many runs began in each hour, by status.
SELECT (started_at - :since) / 3600000000 AS hour, status, COUNT(*) FROM run
WHERE tenant_id = :tenant_id AND id >= :from AND id < :before GROUP BY 1, 2;

-- name: forget_answers
-- Answers that nobody may ask for any more, a batch.
DELETE FROM answer WHERE rowid IN (SELECT rowid FROM answer WHERE expires_at <= :now LIMIT 100);

-- name: insert_events
-- What a transaction did; within the single writer, the order of numbers is the order of commits.
INSERT INTO event ({{event_columns}}) VALUES ({{event_parameters}});

-- name: events_after
-- Events in order, of all tenants.
SELECT seq, events FROM event WHERE seq >= :cursor ORDER BY seq LIMIT :limit;

-- name: events_of_tenant_after
-- The same of one: by its own index, however much the others have to tell.
SELECT seq, events FROM event WHERE tenant_id = :tenant_id AND seq >= :cursor ORDER BY seq LIMIT :limit;

-- name: latest_events
-- The newest events, newest first, of all tenants.
SELECT seq, events FROM event ORDER BY seq DESC LIMIT :limit;

-- name: latest_events_of_tenant
-- The same of one.
SELECT seq, events FROM event WHERE tenant_id = :tenant_id ORDER BY seq DESC LIMIT :limit;

-- name: count_usage
-- Add to what tenants used this month, in this worker's own rows. WHERE: else SQLite takes ON for a part of a join.
INSERT INTO usage (tenant_id, month, worker, runs)
SELECT value ->> 0, :month, :worker, value ->> 1 FROM json_each(:started) WHERE true
ON CONFLICT (tenant_id, month, worker) DO UPDATE SET runs = runs + excluded.runs;

-- name: sweep_runs
-- Runs older than wanted, a batch; ids sort by time.
DELETE FROM run WHERE rowid IN (
    SELECT rowid FROM run WHERE tenant_id = :tenant_id AND id < :before AND status <> 'running' LIMIT :limit);

-- name: sweep_bodies
-- Bodies older than wanted, a batch.
UPDATE run SET body = NULL WHERE rowid IN (
    SELECT rowid FROM run WHERE tenant_id = :tenant_id AND id < :before AND body IS NOT NULL LIMIT :limit);

-- name: sweep_surplus
-- An endpoint's runs beyond its newest ones, a batch.
DELETE FROM run WHERE rowid IN (
    SELECT rowid FROM run WHERE endpoint_id = :endpoint_id AND status <> 'running' AND id < (
        SELECT id FROM run WHERE endpoint_id = :endpoint_id ORDER BY id DESC LIMIT 1 OFFSET :most - 1)
    LIMIT :limit);

-- name: sweep_events
-- Events older than wanted, a batch; they lie in order, so the oldest come first.
-- parameters: before, limit
DELETE FROM event WHERE seq IN (
    SELECT seq FROM (SELECT seq, at FROM event ORDER BY seq LIMIT :limit) WHERE at < :before);

-- name: free_pages
-- How many pages of the file are free, and how many there are.
SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count;

-- name: give_back_pages
-- Move pages from the end of the file into free ones, so that it gets shorter: 500 of 4 kB.
PRAGMA incremental_vacuum(500);

-- name: create_migration_table
-- Where applied migrations are noted.
CREATE TABLE IF NOT EXISTS schema_migration (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;

-- name: close_zombies
-- End runs that nobody finished although their lease was over long ago.
UPDATE run SET status = 'timeout', error_code = 'zombie', finished_at = :now,
    error = 'no result came before the lease ended, nor for long after it'
WHERE status = 'running' AND (tenant_id, id) IN (
    SELECT schedule.tenant_id, run_id FROM schedule
    CROSS JOIN run AS open ON open.tenant_id = schedule.tenant_id AND open.id = run_id AND open.status = 'running'
    WHERE claimable_at < :before AND claimable_at IS NOT NULL AND lease_until IS NOT NULL LIMIT :limit)
RETURNING tenant_id, endpoint_id, id;
