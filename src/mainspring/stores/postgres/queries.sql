-- name: read_clock
-- The time of the database: the one clock that decides what is due, valid or expired.
SELECT clock_timestamp();

-- name: begin
-- Begin a transaction in which each statement sees what was committed before it, regardless of the server's default.
BEGIN ISOLATION LEVEL READ COMMITTED;

-- name: bound_transactions
-- Limit the duration of a transaction, of one or of all that this connection begins. Servers before PostgreSQL 17 do
-- not have this limit, and nothing changes.
SELECT set_config(name, :longest, :is_local) FROM pg_settings WHERE name = 'transaction_timeout';

-- name: server_start
-- The start time of the server, which identifies the server and its last restart.
SELECT pg_postmaster_start_time();

-- name: begin_claim
-- Begin a transaction and try the lock that serialises claims, so that limits across all workers are exact. Returns one
-- row if the lock was free. Never waits: a worker that is stopped inside its claim must not stop the others.
BEGIN ISOLATION LEVEL READ COMMITTED; SELECT 1 WHERE pg_try_advisory_xact_lock({{claim_lock}});

-- name: try_claim_lock
-- Try the claim lock again.
SELECT pg_try_advisory_xact_lock({{claim_lock}});

-- name: due_and_read_clock
-- Read everything a claim needs in one statement, at a cost that follows what is due. It reads a window of due
-- endpoints after each of up to three places in the order of due times, and counts runs in flight for their hosts and
-- tenants only, up to the limits. Rows, in this order:
--   1 the time, the places of all schedulers, the number of schedulers, and the names of those that are alive
--   2 when the next endpoint becomes claimable, and how many of the worker's own lanes already wait for a place
--   3 the end and the number of each window that is full
--   4 runs in flight by host
--   5 runs in flight by tenant, and how many of them are not quick
--   6 due endpoints with their revisions, paces and whether they are in the worker's own lanes: at most twice `limit`,
--     tenants in turn, without those of full or `shut` hosts and without slow or new ones beyond their share
--   7 for the tenants of these: the usage of this month if they have a quota, the quota and the signing keys
-- The size of a window and the number of places are constants: with parameters PostgreSQL would estimate fewer rows and
-- plan the statement again each time, which takes longer than the look itself. Runs of tenants are not counted if the
-- schedulers have no more places than a tenant's limit and all get one.
-- `clock_override` is the time of an injected clock. `lanes` are the worker's own, NULL: all; endpoints of other lanes
-- are read once they are late, unless the worker has a queue in its own lanes. `patterns` are hosts with separate limits.
WITH clock AS MATERIALIZED (
    SELECT now, now - :late_ms::bigint * interval '1 millisecond' AS late_before
    FROM COALESCE(:clock_override::timestamptz, clock_timestamp()) AS now
), fleet AS MATERIALIZED (
    SELECT COALESCE(SUM(places), 0)::bigint AS places, COUNT(*) AS workers,
        COALESCE(array_agg(id ORDER BY id) FILTER (WHERE seen_at > (SELECT now FROM clock) - :alive_ms::bigint * interval '1 millisecond'), '{}') AS alive
    FROM worker WHERE kind = 'scheduler'
), seen AS MATERIALIZED (
    SELECT start.place, found.*, :lanes::int[] IS NULL OR {{lane}} = ANY (:lanes) AS is_own
    FROM (VALUES (1, (:after_at::timestamptz[])[1], (:after_lot::int[])[1]), (2, (:after_at)[2], (:after_lot)[2]),
                 (3, (:after_at)[3], (:after_lot)[3])) AS start (place, at, lot)
    CROSS JOIN LATERAL (
        SELECT id, tenant_id, host, claimable_at, revision, {{pace}}::bigint AS pace, schedule.lot FROM schedule
        WHERE claimable_at <= (SELECT now FROM clock) AND (claimable_at, schedule.lot) > (start.at, start.lot)
        ORDER BY claimable_at, schedule.lot LIMIT {{window}}) AS found
), wanted AS MATERIALIZED (
    SELECT * FROM seen WHERE NOT host = ANY (:shut::text[]) AND (is_own OR
        claimable_at < (SELECT late_before FROM clock)
        AND (SELECT COUNT(*) FROM seen WHERE is_own) < LEAST(:limit, {{queue_max}}))
), hosts AS MATERIALIZED (
    SELECT host, cap, (SELECT COUNT(*) FROM (SELECT FROM schedule AS held WHERE held.host = called.host
        AND lease_until IS NOT NULL AND lease_until > (SELECT now FROM clock) LIMIT cap) AS flight) AS runs
    FROM (SELECT host, CASE WHEN cardinality(:patterns::text[]) = 0 THEN :per_host
                            ELSE COALESCE(cap_of_host(host, :patterns, :host_caps::bigint[]), :per_host) END AS cap
          FROM wanted GROUP BY host) AS called
), tenants AS MATERIALIZED (
    SELECT tenant_id, runs, slow_runs FROM (SELECT DISTINCT tenant_id FROM wanted) AS named CROSS JOIN LATERAL (
        SELECT COUNT(*) AS runs, COUNT(*) FILTER (WHERE {{is_slow}}) AS slow_runs FROM (
            SELECT last_duration_ms FROM schedule AS held WHERE held.tenant_id = named.tenant_id
              AND lease_until IS NOT NULL AND lease_until > (SELECT now FROM clock) LIMIT :per_tenant) AS held) AS flight
    WHERE (SELECT COUNT(*) FROM wanted) > :limit
       OR NOT (SELECT places <= :per_tenant AND :worker::text = ANY (alive) FROM fleet)
), due AS MATERIALIZED (
    SELECT * FROM (
        SELECT id, tenant_id, host, claimable_at, revision, pace, is_own,
            row_number() OVER (PARTITION BY tenant_id ORDER BY claimable_at, id) AS turn FROM wanted
        WHERE host NOT IN (SELECT host FROM hosts WHERE runs >= cap)
          AND tenant_id NOT IN (SELECT tenant_id FROM tenants WHERE runs >= :per_tenant)
          AND (pace = 0 OR pace <= :pace_max::bigint)
          AND (pace <> 2 OR tenant_id NOT IN (SELECT tenant_id FROM tenants WHERE slow_runs >= :slow_per_tenant))
          AND (pace <> 1 OR tenant_id NOT IN (SELECT tenant_id FROM tenants WHERE slow_runs >= :new_per_tenant))
        ) AS ranked
    WHERE turn <= :limit ORDER BY turn, claimable_at, id LIMIT 2 * :limit
)
SELECT NULL, NULL, NULL, now, places, workers, alive, NULL::boolean FROM clock, fleet
UNION ALL
SELECT NULL, NULL, NULL, LEAST(
    (SELECT CASE WHEN :lanes::int[] IS NULL THEN MIN(claimable_at)
                 ELSE COALESCE(MIN(claimable_at) FILTER (WHERE lane = ANY (:lanes)), MAX(claimable_at)) END FROM (
        SELECT claimable_at, {{lane}} AS lane FROM schedule WHERE claimable_at > (SELECT now FROM clock)
        ORDER BY claimable_at, lot LIMIT 16) AS upcoming),
    (SELECT hint_expires_at FROM schedule WHERE hint_expires_at IS NOT NULL ORDER BY hint_expires_at LIMIT 1)),
    (SELECT COUNT(*) FROM seen WHERE is_own), NULL::bigint, NULL::text[], NULL
UNION ALL
SELECT NULL, NULL, NULL, claimable_at, lot, place, NULL::text[], NULL FROM (
    SELECT claimable_at, lot, place, row_number() OVER (PARTITION BY place ORDER BY claimable_at, lot) AS number FROM seen) AS windows
WHERE number = {{window}}
UNION ALL
SELECT NULL, NULL, host, NULL, runs, NULL::bigint, NULL::text[], NULL FROM hosts WHERE runs > 0
UNION ALL
SELECT NULL, tenant_id, NULL, NULL, runs, slow_runs, NULL::text[], NULL FROM tenants WHERE runs > 0
UNION ALL
SELECT id, tenant_id, host, claimable_at, revision, pace, NULL::text[], is_own FROM due
UNION ALL
SELECT NULL, id, NULL, NULL,
    CASE WHEN runs_per_month IS NULL THEN 0 ELSE
        (SELECT COALESCE(SUM(runs), 0)::bigint FROM usage WHERE usage.tenant_id = tenant.id
           AND month = to_char((SELECT now FROM clock) AT TIME ZONE 'UTC', 'YYYY-MM')) END,
    runs_per_month,
    ARRAY(SELECT sealed FROM signing_key WHERE tenant_id = tenant.id ORDER BY created_at DESC, signing_key.id DESC), NULL
FROM tenant WHERE id = ANY (ARRAY(SELECT DISTINCT tenant_id FROM due));

-- name: upcoming
-- The second row of the query above again, after a claim that changed more than leases.
SELECT LEAST(
    (SELECT claimable_at FROM schedule WHERE claimable_at > :now::timestamptz ORDER BY claimable_at, lot LIMIT 1),
    (SELECT hint_expires_at FROM schedule WHERE hint_expires_at IS NOT NULL ORDER BY hint_expires_at LIMIT 1));

-- name: host_rates_and_read_clock
-- The time, as a row without a host, and the times up to which starts of hosts with a rate are paid for, if in the
-- future.
SELECT NULL, COALESCE(:clock_override::timestamptz, clock_timestamp())
UNION ALL
SELECT host, paid_until FROM host_rate WHERE paid_until > COALESCE(:clock_override::timestamptz, clock_timestamp());

-- name: pay_starts
-- Move the time up to which starts are paid for, if it is unchanged since it was read; returns the number of hosts.
WITH paid AS (
    INSERT INTO host_rate (host, paid_until)
    SELECT host, paid_until FROM unnest(:hosts::text[], :paid_until::timestamptz[]) AS new (host, paid_until) ORDER BY host
    ON CONFLICT (host) DO UPDATE SET paid_until = excluded.paid_until
    WHERE host_rate.paid_until <= :now OR host_rate.paid_until = (
        SELECT paid_until FROM unnest(:hosts::text[], :seen::timestamptz[]) AS seen (host, paid_until)
        WHERE seen.host = host_rate.host)
    RETURNING 1
)
SELECT COUNT(*) FROM paid;

-- name: lock_due
-- Lock due endpoints; skips rows that another worker has locked or finished meanwhile.
SELECT id, revision FROM schedule WHERE id = ANY (:ids::text[]) AND claimable_at <= :now
ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: lock_and_read_clock
-- Lock endpoints by id, in one order for all callers, so that no two batches wait for each other. The clock of the last
-- row was read after all rows were locked.
SELECT id, revision, clock_timestamp() FROM (
    SELECT id, revision FROM schedule WHERE id = ANY (:ids::text[]) ORDER BY id FOR UPDATE) AS locked;

-- name: lock_free_and_read_clock
-- The same, without rows that another transaction has locked.
SELECT id, revision, clock_timestamp() FROM (
    SELECT id, revision FROM schedule WHERE id = ANY (:ids::text[]) ORDER BY id FOR UPDATE SKIP LOCKED) AS locked;

-- name: endpoints_that_exist
-- Which of these endpoints exist, locked or not.
SELECT id FROM schedule WHERE id = ANY (:ids::text[]);

-- name: close_runs
-- Close the runs of lost workers. Runs before the next statement, because an endpoint has one live run.
UPDATE run SET status = lost.status, error_code = 'lost_worker', error = lost.error, finished_at = :now
FROM unnest(:tenant_ids::text[], :ids::text[], :statuses::text[], :errors::text[]) AS lost (tenant_id, id, status, error)
WHERE run.tenant_id = lost.tenant_id AND run.id = lost.id AND run.status = 'running';

-- name: write_claims_and_read_clock
-- Write everything an ordinary claim changes in one statement: leases, the runs they start, usage, events. Returns how
-- many endpoints were leased: all, or none if another worker holds the claim lock or has taken the places meanwhile, or
-- if `now` is too long ago. Divides by zero, as `write_results` does, if an endpoint is locked or has changed since it
-- was read. With `has_lock` the caller holds the claim lock. Rows are updated at the place where they were locked,
-- because a join by id may be planned as a scan of a small table. Unless the claim must be `lasting`, the commit does
-- not wait for the disk. With a synchronous standby it always waits: a replaced primary that still runs would let calls
-- start.
WITH admission AS MATERIALIZED (
    SELECT CASE WHEN :has_lock::boolean THEN true ELSE
        claims_fit({{claim_lock}}, {{lane_class}}, COALESCE(:clock_override::timestamptz, clock_timestamp()), :now::timestamptz,
                   :month::text, :tenants::text[], :hosts::text[],
                   ARRAY(SELECT DISTINCT {{lane}} FROM unnest(:hosts::text[]) AS called (host) ORDER BY 1),
                   :host_caps::bigint[], :per_tenant, :shares) END AS is_granted
), leased AS (
    UPDATE schedule SET revision = schedule.revision + 1, claim_epoch = claim_epoch + 1, claimed_by = :worker,
        {{lease_assignments}}
    FROM {{lease_rows}}
    CROSS JOIN LATERAL (SELECT kept.ctid AS place FROM schedule AS kept
        WHERE kept.id = new.id AND kept.revision = new.revision FOR UPDATE SKIP LOCKED) AS unchanged
    WHERE (SELECT is_granted FROM admission) AND schedule.ctid = unchanged.place
    RETURNING schedule.*
), opened AS (
    INSERT INTO run (id, tenant_id, endpoint_id, slot_at, attempt, trigger, source, status, started_at, claim_epoch,
                     worker, missed_count, trail, detail)
    SELECT run_id, tenant_id, id, slot_at, attempt, CASE WHEN attempt > 1 THEN 'retry' ELSE trigger END, source,
           'running', :now, claim_epoch, claimed_by, 0, trail, '{}' FROM leased
), used AS (
    INSERT INTO usage (tenant_id, month, worker, runs)
    SELECT tenant_id, :month, :worker, runs FROM unnest(:used_tenants::text[], :used_runs::bigint[]) AS new (tenant_id, runs)
    WHERE (SELECT is_granted FROM admission)
    ON CONFLICT (tenant_id, month, worker) DO UPDATE SET runs = usage.runs + excluded.runs
), recorded AS (
    INSERT INTO event ({{event_columns}}) SELECT * FROM {{event_rows}} WHERE (SELECT is_granted FROM admission)
)
SELECT CASE WHEN (SELECT is_granted FROM admission) THEN COUNT(*) / (COUNT(*) = :expected::bigint)::int ELSE 0 END,
       CASE WHEN NOT :lasting::boolean AND current_setting('synchronous_standby_names') = ''
            THEN set_config('synchronous_commit', 'off', true) END
FROM leased;

-- name: make_run_partitions
-- Create the missing partitions of runs from a time on.
SELECT make_run_partitions(:at::timestamptz, :width::interval, :count);

-- name: add_runs
-- Insert runs that an ordinary claim does not create: missed slots, slots taken over.
INSERT INTO run ({{run_columns}}) SELECT * FROM {{run_rows}};

-- name: write_results
-- Write everything ordinary finishes change in one statement, and notify other processes if there is a payload. A
-- result is written once, also if its run was given up. If an endpoint is locked, or has changed since it was read, the
-- statement divides by zero: nothing is written, and no further round trip is needed.
WITH settled AS (
    UPDATE schedule SET revision = schedule.revision + 1, {{outcome_assignments}}
    FROM {{outcome_rows}}
    CROSS JOIN LATERAL (SELECT kept.ctid AS place FROM schedule AS kept
        WHERE kept.id = new.id AND kept.revision = new.revision FOR UPDATE SKIP LOCKED) AS unchanged
    WHERE schedule.ctid = unchanged.place
    RETURNING 1
), results AS (
    UPDATE run SET {{result_assignments}} FROM {{result_rows}}
    WHERE run.tenant_id = new.tenant_id AND run.id = new.id
      AND COALESCE(run.status IN ('running', 'abandoned', 'unknown') OR run.error_code = 'zombie', false)  -- opaque, too
), recorded AS (
    INSERT INTO event ({{event_columns}}) SELECT * FROM {{event_rows}}
)
SELECT 1 / (COUNT(*) = :expected::bigint)::int, CASE WHEN :payload <> '' THEN pg_notify(:channel, :payload)::text END
FROM settled;

-- name: superseded_runs
-- Which of these runs are recorded as superseded.
SELECT id FROM run WHERE endpoint_id = ANY (:endpoint_ids::text[]) AND id = ANY (:ids::text[])
  AND status = 'superseded';

-- name: write_states
-- Write complete states, if more changed than an ordinary claim or finish changes.
UPDATE schedule SET revision = revision + 1, {{state_assignments}}
FROM {{state_rows}} WHERE schedule.id = new.id;

-- name: notify
-- Notify every listening process that a schedule moved, and to which time.
SELECT pg_notify(:channel, :payload);

-- name: lock_job
-- The status of a job, locked until the transaction ends; other endpoints cannot be added for its tenant meanwhile.
SELECT job.status FROM job JOIN tenant ON tenant.id = job.tenant_id WHERE job.tenant_id = :tenant_id AND job.id = :id
FOR SHARE OF job FOR NO KEY UPDATE OF tenant;

-- name: expired_hints
-- Endpoints with an expired hint.
SELECT id, revision FROM schedule WHERE hint_expires_at <= :now LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: look_endpoints_of_job
-- The same for a job.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND job_id = :job_id AND archived_at IS NULL AND call_key IS NULL
  AND {{in_state}}
  AND {{has_text}}
  AND name > :after_name
ORDER BY name LIMIT :limit;

-- name: recent_runs
-- The results of the newest runs of each of these endpoints, newest first.
SELECT wanted.id, newest.id, newest.status, newest.duration_ms
FROM unnest(:endpoint_ids::text[]) AS wanted (id) CROSS JOIN LATERAL
  (SELECT id, status, duration_ms FROM run
   WHERE tenant_id = :tenant_id AND endpoint_id = wanted.id ORDER BY id DESC LIMIT :limit) AS newest
ORDER BY newest.id DESC;

-- name: count_runs
-- The number of runs that started in each hour, by status.
SELECT floor(extract(epoch FROM started_at - :since::timestamptz) / 3600)::bigint AS hour, status, COUNT(*) FROM run
WHERE tenant_id = :tenant_id AND id >= :from AND id < :before GROUP BY 1, 2;

-- name: forget_answers
-- Delete responses of expired idempotency keys, one batch.
DELETE FROM answer WHERE ctid = ANY (ARRAY(SELECT ctid FROM answer WHERE expires_at <= :now LIMIT 100));

-- name: insert_events
-- Insert the events of a transaction, in one statement over arrays.
INSERT INTO event ({{event_columns}}) SELECT * FROM unnest(:tenant_ids::text[], :ats::timestamptz[], :events::text[]);

-- name: event_horizon
-- The number up to which all events are visible to the statements that follow. Only transactions that write events of
-- this installation hold it back.
SELECT event_horizon();

-- name: last_place
-- The newest number that was drawn, committed or not. The horizon may be lower than what was read already: a writer
-- marks itself with a number that it read a moment before.
SELECT last_value - (NOT is_called)::int FROM event_seq_seq;

-- name: oldest_held_event
-- When the oldest committed event beyond the horizon was written.
SELECT at FROM event WHERE seq > :horizon ORDER BY seq LIMIT 1;

-- name: event_writers_and_read_clock
-- Open transactions that wrote events, oldest first: the process (NULL: a prepared transaction), its name, its state,
-- and for how many seconds the transaction has been open.
SELECT writer.pid, COALESCE(prepared.gid, concat_ws(' at ', NULLIF(application_name, ''), host(client_addr)), ''),
    COALESCE(state, ''), COALESCE(extract(epoch FROM clock_timestamp() - COALESCE(xact_start, prepared.prepared)), 0)::float8
FROM event_writers((SELECT last_value FROM event_seq_seq)) AS writer
LEFT JOIN pg_stat_activity AS client ON client.pid = writer.pid
LEFT JOIN pg_locks AS number ON writer.pid IS NULL AND number.pid IS NULL AND number.locktype = 'transactionid'
    AND number.virtualtransaction = writer.virtualtransaction
LEFT JOIN pg_prepared_xacts AS prepared ON prepared.transaction = number.transactionid
ORDER BY beyond;

-- name: dead_rows
-- The number of dead and of live versions of endpoints' state.
SELECT n_dead_tup, n_live_tup FROM pg_stat_user_tables WHERE relid = 'schedule'::regclass;

-- name: oldest_transaction_and_read_clock
-- The transaction of this database that prevents the removal of the oldest rows: the process (NULL: a prepared
-- transaction), its name, its state, and for how many seconds it has been open.
SELECT pid, concat_ws(' at ', NULLIF(application_name, ''), host(client_addr)), COALESCE(state, ''),
    extract(epoch FROM clock_timestamp() - xact_start)::float8 AS open_s
FROM pg_stat_activity WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
UNION ALL
SELECT NULL, gid, '', extract(epoch FROM clock_timestamp() - prepared)::float8 FROM pg_prepared_xacts
WHERE database = current_database()
ORDER BY open_s DESC NULLS LAST LIMIT 1;

-- name: events_after
-- Events of all tenants in order, up to the horizon.
SELECT seq, events FROM event WHERE seq >= :cursor AND seq <= :horizon ORDER BY seq LIMIT :limit;

-- name: events_of_tenant_after
-- The same for one tenant, by a separate index, so that events of other tenants cost nothing.
SELECT seq, events FROM event
WHERE tenant_id = :tenant_id AND seq >= :cursor AND seq <= :horizon ORDER BY seq LIMIT :limit;

-- name: latest_events
-- The newest events of all tenants up to the horizon, newest first.
SELECT seq, events FROM event WHERE seq <= :horizon ORDER BY seq DESC LIMIT :limit;

-- name: latest_events_of_tenant
-- The same for one tenant.
SELECT seq, events FROM event WHERE tenant_id = :tenant_id AND seq <= :horizon ORDER BY seq DESC LIMIT :limit;

-- name: close_zombies
-- Close runs whose lease ended long ago.
UPDATE run SET status = 'timeout', error_code = 'zombie', finished_at = :now,
    error = 'no result came before the lease ended, nor for long after it'
WHERE status = 'running' AND (tenant_id, id) IN (
    SELECT schedule.tenant_id, run_id FROM schedule
    JOIN run AS open ON open.tenant_id = schedule.tenant_id AND open.id = run_id AND open.status = 'running'
    WHERE claimable_at < :before AND lease_until IS NOT NULL LIMIT :limit)
RETURNING tenant_id, endpoint_id, id;

-- name: make_event_partitions
-- Create the missing partitions of events.
SELECT make_event_partitions();

-- name: event_partition_began_at
-- When the first event of the present partition was written; NULL: it is empty.
SELECT at FROM event WHERE seq >= (SELECT (last_value >> 30) << 30 FROM event_seq_seq) ORDER BY seq LIMIT 1;

-- name: begin_event_partition
-- Number further events in the next partition.
SELECT begin_event_partition();

-- name: run_room_until
-- The time up to which partitions for runs exist, without a gap from this id on.
WITH RECURSIVE room (upto) AS (
    SELECT upto FROM history_partition WHERE parent = 'run' AND first <= :id AND upto > :id AND NOT is_leaving
    UNION ALL
    SELECT known.upto FROM room JOIN history_partition AS known ON known.parent = 'run' AND known.first = room.upto
)
SELECT run_id_time(MAX(upto)) FROM room;

-- name: expired_run_partitions
-- Partitions of runs before an id, without those of runs in flight. Those that have no bounds any more come first.
SELECT parent, name, run_id_time(first), run_id_time(upto), is_leaving FROM history_partition
WHERE parent = 'run' AND (first IS NULL OR upto <= :before
    AND NOT EXISTS (SELECT FROM schedule WHERE (lease_until IS NOT NULL OR waiting <> '') AND run_id < upto))
ORDER BY first NULLS FIRST;

-- name: expired_event_partitions
-- Partitions of events before the present one that contain no event since a time. The last thousand rows decide, so
-- that one clock that is behind does not make a partition look old.
SELECT parent, name, (SELECT at FROM event WHERE seq >= first::bigint AND seq < upto::bigint ORDER BY seq LIMIT 1),
    newest.at, is_leaving
FROM history_partition CROSS JOIN LATERAL (SELECT MAX(at) AS at FROM (
    SELECT at FROM event WHERE seq >= first::bigint AND seq < upto::bigint ORDER BY seq DESC LIMIT 1000) AS last) AS newest
WHERE parent = 'event' AND (first IS NULL OR upto::bigint <= (SELECT (last_value >> 30) << 30 FROM event_seq_seq)
    AND COALESCE(newest.at < :before, true))
ORDER BY first::bigint NULLS FIRST;

-- name: detach_statement
-- The statement that detaches a partition, or completes that, while others read and write the table. It cannot be part
-- of a function.
SELECT format('ALTER TABLE %I DETACH PARTITION %I %s', parent, name,
    CASE WHEN is_leaving THEN 'FINALIZE' ELSE 'CONCURRENTLY' END)
FROM history_partition WHERE name = :name AND first IS NOT NULL;

-- name: drop_partition
-- Remove a partition with its rows.
SELECT drop_partition(:name);

-- name: analyze_history
-- Analyze the partitioned tables; autovacuum analyzes only their partitions.
SELECT analyze_history();

-- name: sweep_bodies
-- Remove bodies past their retention, one batch.
UPDATE run SET body = NULL WHERE tenant_id = :tenant_id AND id < :before AND id = ANY (ARRAY(
    SELECT id FROM run WHERE tenant_id = :tenant_id AND id < :before AND body IS NOT NULL ORDER BY id LIMIT :limit));

-- name: sweep_surplus
-- Delete an endpoint's runs beyond its newest ones, one batch.
DELETE FROM run WHERE endpoint_id = :endpoint_id AND status <> 'running'
  AND id < (SELECT id FROM run WHERE endpoint_id = :endpoint_id ORDER BY id DESC LIMIT 1 OFFSET :most - 1)
  AND id < COALESCE((SELECT id FROM run WHERE endpoint_id = :endpoint_id ORDER BY id LIMIT 1 OFFSET :limit), 'run_~');

-- name: sweep_events
-- Delete events past their retention that share a partition with newer ones, one batch: an absent janitor began no new
-- one.
-- parameters: before, limit
DELETE FROM event WHERE seq = ANY (ARRAY(
    SELECT seq FROM (SELECT seq, at FROM event ORDER BY seq LIMIT :limit) AS oldest WHERE at < :before));

-- name: has_migration_table
-- Whether this database was ever migrated.
SELECT to_regclass('schema_migration') IS NOT NULL;

-- name: create_migration_table
-- Create the table of applied migrations.
CREATE TABLE IF NOT EXISTS schema_migration (
    number bigint PRIMARY KEY, name text COLLATE "C" NOT NULL, applied_at timestamptz NOT NULL);

-- name: probe_schedule
-- Write nothing; fails if the table is locked, read-only or missing.
UPDATE schedule SET revision = revision WHERE false;

-- name: probe_run
-- The same for results.
UPDATE run SET status = status WHERE false;

-- name: probe_event
-- The same for events.
DELETE FROM event WHERE false;

-- name: lock_migrations
-- Let one process at a time migrate; the others wait and find nothing left to do.
SELECT pg_advisory_xact_lock(:key);

-- name: try_build_lock
-- Let one process at a time build indexes. The session holds this lock, because no transaction is open.
SELECT pg_try_advisory_lock(:key);

-- name: leave_build_lock
-- Release the lock.
SELECT pg_advisory_unlock(:key);

-- name: server_version
-- The version of PostgreSQL.
SELECT current_setting('server_version');

-- name: is_standby
-- Whether this server is a standby.
SELECT pg_is_in_recovery();

-- name: replication
-- Whether commits wait for a standby, and how many standbys are connected.
SELECT current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local'),
       (SELECT count(*) FROM pg_stat_replication);

-- name: add_migration_once
-- Record an applied migration outside a transaction, where another process may have done so.
INSERT INTO schema_migration (number, name, applied_at) VALUES (:number, :name, :applied_at) ON CONFLICT DO NOTHING;

-- name: lock_jobs
-- A tenant's jobs, locked until the transaction ends.
SELECT id FROM job WHERE tenant_id = :tenant_id ORDER BY id FOR NO KEY UPDATE;
