-- name: next_claimable
-- When the next endpoint will become claimable. What is so already waits for a place, not for the clock.
SELECT MIN((SELECT claimable_at FROM schedule
            WHERE tenant_id = tenant.id AND claimable_at > :now AND claimable_at IS NOT NULL
            ORDER BY claimable_at LIMIT 1))
FROM tenant;

-- name: any_due
-- Whether any tenant has anything to claim.
SELECT 1 FROM tenant WHERE EXISTS (SELECT 1 FROM schedule
                                   WHERE tenant_id = tenant.id AND claimable_at <= :now AND claimable_at IS NOT NULL)
LIMIT 1;

-- name: tenants
-- Every tenant's id.
SELECT id FROM tenant ORDER BY id;

-- name: due_tenants
-- The tenants with something to claim; claims go round them so that none starves another.
SELECT id FROM tenant WHERE EXISTS (SELECT 1 FROM schedule
                                    WHERE tenant_id = tenant.id AND claimable_at <= :now AND claimable_at IS NOT NULL)
ORDER BY id;

-- name: next_hint_expiry
-- When the earliest hint's time runs out.
SELECT MIN(hint_expires_at) FROM schedule WHERE hint_expires_at IS NOT NULL;

-- name: busy
-- How many runs are in flight for each tenant and host, and how many of them are not quick.
SELECT tenant_id, host, COUNT(*), SUM({{is_slow}}) FROM schedule WHERE lease_until > :now AND lease_until IS NOT NULL
GROUP BY tenant_id, host;

-- name: due
-- One tenant's due endpoints up to a pace, oldest first, and the pace of each. PostgreSQL asks for all tenants in one LATERAL join, which SQLite lacks; here a query costs microseconds. The write transaction that reads their
-- revisions is the lock.
SELECT id, tenant_id, host, claimable_at, {{pace}}, revision FROM schedule
WHERE tenant_id = :tenant_id AND claimable_at <= :now AND claimable_at IS NOT NULL
  AND host NOT IN (SELECT value FROM json_each(:full_hosts)) AND {{pace}} <= :pace_max
ORDER BY claimable_at LIMIT :limit;

-- name: host_rates
-- Up to when the starts of hosts with a rate are paid for, where that is ahead.
SELECT host, paid_until FROM host_rate WHERE paid_until > :now;

-- name: pay_starts
-- Move on up to when a host's starts are paid for.
INSERT INTO host_rate (host, paid_until) VALUES (:host, :paid_until)
ON CONFLICT (host) DO UPDATE SET paid_until = excluded.paid_until;

-- name: forget_host_rates
-- Hosts that have had no start for long; what is paid for up to the past counts no more.
DELETE FROM host_rate WHERE paid_until < :before;

-- name: revisions
-- At which revision endpoints are; the write transaction that reads them is the lock.
SELECT id, revision FROM schedule WHERE id IN (SELECT value FROM json_each(:ids));

-- name: endpoints_by_id
-- Whole endpoints, for those that are not known at their revision.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id) WHERE id IN (SELECT value FROM json_each(:ids));

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

-- name: write_state
-- An endpoint's whole state.
UPDATE schedule SET revision = revision + 1, {{state_assignments}} WHERE id = :id;

-- name: write_config
-- An endpoint's configuration after an edit.
UPDATE endpoint SET {{config_assignments}} WHERE id = :id;

-- name: write_host
-- Where an endpoint calls, for the cap on one host, after an edit.
UPDATE schedule SET host = :host WHERE id = :id;

-- name: lock_job
-- A job's status, which stays so until the transaction ends; and nobody else adds an endpoint for its tenant meanwhile.
SELECT job.status FROM job JOIN tenant ON tenant.id = job.tenant_id WHERE job.tenant_id = :tenant_id AND job.id = :id;

-- name: count_endpoints
-- How many endpoints count towards a tenant's quota; a tenant without one is not counted.
SELECT CASE WHEN endpoints_max IS NULL THEN 0 ELSE
    (SELECT COUNT(*) FROM endpoint WHERE tenant_id = tenant.id AND archived_at IS NULL) END
FROM tenant WHERE id = :tenant_id;

-- name: add_endpoint
-- A new endpoint.
INSERT INTO endpoint ({{config_columns}}) VALUES ({{config_parameters}});

-- name: add_schedule
-- A new endpoint's state.
INSERT INTO schedule (id, tenant_id, host, {{state_columns}}) VALUES (:id, :tenant_id, :host, {{state_parameters}});

-- name: endpoint
-- One endpoint by id, or by name among those not archived; the id first, should another one be named like it.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND (id = :name OR (name = :name AND archived_at IS NULL))
ORDER BY id <> :name;

-- name: delete_runs
-- An endpoint's runs, when it is deleted.
DELETE FROM run WHERE endpoint_id = :endpoint_id;

-- name: delete_endpoint
-- The endpoint itself.
DELETE FROM endpoint WHERE tenant_id = :tenant_id AND id = :id;

-- name: expired_hints
-- Endpoints with a hint whose time ran out.
SELECT id FROM schedule WHERE hint_expires_at <= :now AND hint_expires_at IS NOT NULL LIMIT :limit;

-- name: add_run
-- A run: started, or missed.
INSERT INTO run ({{run_columns}}) VALUES ({{run_parameters}});

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

-- name: add_body
-- The body of a run, where it does not come with its result.
UPDATE run SET body_type = :body_type, body_truncated = :truncated, body_seen = :seen, body = :body
WHERE tenant_id = :tenant_id AND id = :id;

-- name: run
-- One run.
SELECT {{run_columns}} FROM run WHERE tenant_id = :tenant_id AND id = :id;

-- name: runs
-- A tenant's runs, newest first.
SELECT {{run_columns}} FROM run
WHERE tenant_id = :tenant_id AND (:before IS NULL OR id < :before) AND {{ended_so}}
ORDER BY id DESC LIMIT :limit;

-- name: runs_of_endpoint
-- An endpoint's runs, newest first.
SELECT {{run_columns}} FROM run
WHERE tenant_id = :tenant_id AND endpoint_id = :endpoint_id AND (:before IS NULL OR id < :before)
  AND {{ended_so}}
ORDER BY id DESC LIMIT :limit;

-- name: look_endpoints
-- A page of the endpoints that are not archived, by name, which is theirs alone.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND archived_at IS NULL
  AND {{in_state}}
  AND {{has_text}}
  AND name > :after_name
ORDER BY name LIMIT :limit;

-- name: look_endpoints_of_job
-- The same of a job.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE +endpoint.tenant_id = :tenant_id AND job_id = :job_id AND archived_at IS NULL
  AND {{in_state}}
  AND {{has_text}}
  AND name > :after_name
ORDER BY name LIMIT :limit;

-- name: look_archived_endpoints
-- The same of those that are.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND archived_at IS NOT NULL
  AND (:job_id IS NULL OR job_id = :job_id)
  AND {{has_text}}
  AND (name, id) > (:after_name, :after_id)
ORDER BY name, id LIMIT :limit;

-- name: look_runs
-- A tenant's runs with the names of their endpoints, newest first, between two ids.
SELECT {{run_summary}}, COALESCE(endpoint.name, run.endpoint_id)
FROM run LEFT JOIN endpoint ON endpoint.id = run.endpoint_id
WHERE run.tenant_id = :tenant_id AND run.id < :before AND run.id >= :from
  AND {{ended_so}}
  AND (:trigger IS NULL OR trigger = :trigger)
ORDER BY run.id DESC LIMIT :limit;

-- name: look_runs_of_endpoint
-- The same of one endpoint.
SELECT {{run_summary}}, COALESCE(endpoint.name, run.endpoint_id)
FROM run LEFT JOIN endpoint ON endpoint.id = run.endpoint_id
WHERE run.tenant_id = :tenant_id AND run.endpoint_id = :endpoint_id AND run.id < :before AND run.id >= :from
  AND {{ended_so}}
  AND (:trigger IS NULL OR trigger = :trigger)
ORDER BY run.id DESC LIMIT :limit;

-- name: recent_runs
-- How the newest runs of each of these endpoints ended, newest first. CROSS JOIN: else it goes through all runs.
SELECT wanted.value, run.id, run.status, run.duration_ms
FROM json_each(:endpoint_ids) AS wanted CROSS JOIN run ON run.tenant_id = :tenant_id AND run.id IN
  (SELECT newest.id FROM run AS newest WHERE newest.endpoint_id = wanted.value ORDER BY newest.id DESC LIMIT :limit)
ORDER BY run.id DESC;

-- name: run_so_far_back
-- The run that so many newer ones precede: how far a filter looks at once. From the index alone.
SELECT id FROM run WHERE tenant_id = :tenant_id AND id < :before ORDER BY id DESC LIMIT 1 OFFSET :most;

-- name: results
-- How the runs of an endpoint ended, newest first.
SELECT started_at, status, duration_ms FROM run
WHERE tenant_id = :tenant_id AND endpoint_id = :endpoint_id AND id >= :from AND trigger <> 'test'
ORDER BY id DESC LIMIT :limit;

-- name: count_states
-- How many endpoints are in each state; of them, how many failed last, are running, and are late.
SELECT {{state}} AS state, COUNT(*), COUNT(*) FILTER (WHERE failure_count > 0),
       COUNT(*) FILTER (WHERE lease_until IS NOT NULL),
       COUNT(*) FILTER (WHERE claimable_at <= :late_before AND lease_until IS NULL)
FROM endpoint JOIN schedule USING (id) WHERE endpoint.tenant_id = :tenant_id GROUP BY 1;

-- name: count_runs
-- How many runs began in each hour, by status.
SELECT (started_at - :since) / 3600000000 AS hour, status, COUNT(*) FROM run
WHERE tenant_id = :tenant_id AND id >= :from AND id < :before GROUP BY 1, 2;

-- name: upcoming_endpoints
-- What waits for its time, soonest first.
SELECT {{endpoint_columns}} FROM schedule JOIN endpoint USING (id)
WHERE schedule.tenant_id = :tenant_id AND claimable_at IS NOT NULL AND claimable_at < :forever AND lease_until IS NULL
ORDER BY claimable_at LIMIT :limit;

-- name: endpoint_names
-- Names by id.
SELECT id, name FROM endpoint WHERE tenant_id = :tenant_id AND id IN (SELECT value FROM json_each(:ids));

-- name: forget_answers
-- Answers that nobody may ask for any more, a batch.
DELETE FROM answer WHERE rowid IN (SELECT rowid FROM answer WHERE expires_at <= :now LIMIT 100);

-- name: claim_answer
-- Begin a request under a key that is new, or whose first request was given up for lost.
INSERT INTO answer (tenant_id, actor, key, request, claimed_until, expires_at)
VALUES (:tenant_id, :actor, :key, :request, :claimed_until, :expires_at)
ON CONFLICT (tenant_id, actor, key) DO UPDATE SET request = excluded.request, claimed_until = excluded.claimed_until,
    expires_at = excluded.expires_at
WHERE answer.answer IS NULL AND answer.claimed_until <= :now;

-- name: read_answer
-- What was asked under a key, and the answer, if there is one.
SELECT request, answer FROM answer WHERE tenant_id = :tenant_id AND actor = :actor AND key = :key;

-- name: keep_answer
-- The answer to the request that holds the key.
UPDATE answer SET answer = :answer
WHERE tenant_id = :tenant_id AND actor = :actor AND key = :key AND request = :request AND answer IS NULL;

-- name: release_answer
-- The request was refused: its key is free again.
DELETE FROM answer
WHERE tenant_id = :tenant_id AND actor = :actor AND key = :key AND request = :request AND answer IS NULL;

-- name: body
-- What a run's response was.
SELECT body, body_type, body_truncated, body_seen FROM run WHERE tenant_id = :tenant_id AND id = :id;

-- name: add_event
-- What a transaction has to tell; within the single writer, the order of numbers is the order of commits.
INSERT INTO event ({{event_columns}}) VALUES ({{event_parameters}});

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

-- name: add_job
-- A new job.
INSERT INTO job ({{job_columns}}) VALUES ({{job_parameters}});

-- name: jobs
-- A tenant's jobs by name.
SELECT {{job_columns}} FROM job WHERE tenant_id = :tenant_id ORDER BY name;

-- name: put_job
-- A job's name, description, status and source.
UPDATE job SET name = :name, description = :description, status = :status, updated_at = :updated_at,
    managed_by = :managed_by
WHERE tenant_id = :tenant_id AND id = :id;

-- name: tenant
-- A tenant with what it used this month.
SELECT id, name, runs_per_month, tokens_per_month, endpoints_max, interval_ms_min,
       (SELECT COALESCE(SUM(runs), 0) FROM usage WHERE usage.tenant_id = tenant.id AND month = :month)
FROM tenant WHERE id = :id;

-- name: put_tenant
-- Create or change a tenant.
INSERT INTO tenant (id, name, runs_per_month, tokens_per_month, endpoints_max, interval_ms_min)
VALUES (:id, :name, :runs_per_month, :tokens_per_month, :endpoints_max, :interval_ms_min)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, runs_per_month = excluded.runs_per_month,
    tokens_per_month = excluded.tokens_per_month, endpoints_max = excluded.endpoints_max,
    interval_ms_min = excluded.interval_ms_min;

-- name: undefer
-- Endpoints that waited for a quota that has just changed: due again, by their own plan, from now on. What has no plan,
-- as its job is paused, gets none; but it does not wait any longer either.
UPDATE schedule SET deferred_until = NULL, revision = revision + 1,
    next_run_at = CASE WHEN next_run_at IS NULL THEN NULL ELSE :now END
WHERE tenant_id = :tenant_id AND deferred_until IS NOT NULL;

-- name: count_usage
-- Add to what a tenant used this month, in this worker's own row.
INSERT INTO usage (tenant_id, month, worker, runs) VALUES (:tenant_id, :month, :worker, :runs)
ON CONFLICT (tenant_id, month, worker) DO UPDATE SET runs = runs + excluded.runs;

-- name: sealed_signing_keys
-- A tenant's signing keys as they lie, newest first.
SELECT sealed FROM signing_key WHERE tenant_id = :tenant_id ORDER BY created_at DESC, id DESC;

-- name: signing_keys
-- Which signing keys a tenant has; never the keys.
SELECT id, created_at FROM signing_key WHERE tenant_id = :tenant_id ORDER BY created_at DESC, id DESC;

-- name: add_signing_key
-- A new signing key.
INSERT INTO signing_key (id, tenant_id, sealed, created_at) VALUES (:id, :tenant_id, :sealed, :created_at);

-- name: revoke_signing_key
-- End a signing key.
DELETE FROM signing_key WHERE tenant_id = :tenant_id AND id = :id;

-- name: forget_workers
-- Rows of workers that were last seen long ago.
DELETE FROM worker WHERE seen_at < :before;

-- name: zombies
-- Runs that nobody finished although their lease was over long ago, and that were not closed before.
SELECT schedule.id, run_id FROM schedule
JOIN run ON run.tenant_id = schedule.tenant_id AND run.id = run_id AND run.status = 'running'
WHERE schedule.tenant_id = :tenant_id AND claimable_at < :before AND claimable_at IS NOT NULL AND lease_until IS NOT NULL
LIMIT :limit;

-- name: close_zombie
-- End such a run as a timeout.
UPDATE run SET status = 'timeout', error_code = 'zombie', finished_at = :now,
    error = 'no result came before the lease ended, nor for long after it'
WHERE tenant_id = :tenant_id AND id = :id AND status = 'running';

-- name: sweep_runs
-- Runs older than wanted, a batch; ids sort by time.
DELETE FROM run WHERE rowid IN (
    SELECT rowid FROM run WHERE tenant_id = :tenant_id AND id < :before AND status <> 'running' LIMIT :limit);

-- name: sweep_bodies
-- Bodies older than wanted, a batch.
UPDATE run SET body = NULL WHERE rowid IN (
    SELECT rowid FROM run WHERE tenant_id = :tenant_id AND id < :before AND body IS NOT NULL LIMIT :limit);

-- name: crowded_endpoints
-- Endpoints to check for too many runs: a page of ids after the last one checked.
SELECT id FROM endpoint WHERE id > :after ORDER BY id LIMIT :limit;

-- name: sweep_surplus
-- An endpoint's runs beyond its newest ones, a batch.
DELETE FROM run WHERE rowid IN (
    SELECT rowid FROM run WHERE endpoint_id = :endpoint_id AND status <> 'running' AND id < (
        SELECT id FROM run WHERE endpoint_id = :endpoint_id ORDER BY id DESC LIMIT 1 OFFSET :most - 1)
    LIMIT :limit);

-- name: sweep_events
-- Events older than wanted, a batch; they lie in order, so the oldest come first.
DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE at < :before ORDER BY seq LIMIT :limit);

-- name: backlog
-- What is due for longer than it should be and not leased.
SELECT COUNT(*), MIN(claimable_at) FROM schedule
WHERE tenant_id = :tenant_id AND claimable_at <= :before AND claimable_at IS NOT NULL AND lease_until IS NULL;

-- name: waiting
-- What is due and not started, by host and pace.
SELECT tenant_id, host, {{pace}}, COUNT(*), MIN(claimable_at) FROM schedule
WHERE tenant_id = :tenant_id AND claimable_at <= :before AND claimable_at IS NOT NULL GROUP BY 1, 2, 3;

-- name: flights
-- What is in flight, by tenant, host and scheduler, whether it is slow, and whether it has been since before `since`.
SELECT schedule.tenant_id, host, claimed_by, {{is_slow}}, COALESCE(run.started_at <= :since, 0), COUNT(*)
FROM schedule LEFT JOIN run ON run.tenant_id = schedule.tenant_id AND run.id = schedule.run_id
WHERE lease_until > :now AND lease_until IS NOT NULL GROUP BY 1, 2, 3, 4, 5;

-- name: running
-- How many runs are in flight.
SELECT COUNT(*) FROM schedule WHERE lease_until IS NOT NULL;

-- name: forget_usage
-- What tenants used in months long past.
DELETE FROM usage WHERE month < :before;

-- name: installation
-- A value of this installation.
SELECT value FROM installation WHERE key = :key;

-- name: set_installation
-- A value of this installation, if it has none yet.
INSERT INTO installation (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING;

-- name: applied_migrations
-- Which migrations this file has.
SELECT number FROM schema_migration;

-- name: add_migration
-- A migration was applied.
INSERT INTO schema_migration (number, name, applied_at) VALUES (:number, :name, :applied_at);

-- name: create_migration_table
-- Where applied migrations are noted.
CREATE TABLE IF NOT EXISTS schema_migration (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;

-- name: free_names
-- Names that a configuration takes away from their endpoints, so that they can be given to others in any order.
UPDATE endpoint SET name = id WHERE id IN (SELECT value FROM json_each(:ids));
