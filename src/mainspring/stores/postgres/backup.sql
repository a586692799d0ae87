-- name: lock_restore
-- Block the migrations of processes that start meanwhile, until the database is complete.
SELECT pg_advisory_lock(:key);

-- name: sessions_present
-- Sessions of Mainspring on this database, oldest first.
SELECT client_addr, backend_start FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'mainspring'
ORDER BY backend_start;

-- name: has_worker_table
-- Whether this is a database of Mainspring.
SELECT to_regclass('worker') IS NOT NULL;

-- name: workers_present_and_read_clock
-- The workers with a heartbeat within a period.
SELECT id FROM worker WHERE seen_at > clock_timestamp() - :within::interval ORDER BY id;
