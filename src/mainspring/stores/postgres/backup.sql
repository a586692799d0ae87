-- name: lock_restore
-- What starts meanwhile waits with its migrations until the database is whole.
SELECT pg_advisory_lock(:key);

-- name: sessions_present
-- Sessions of Mainspring on this database, the oldest first.
SELECT client_addr, backend_start FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'mainspring'
ORDER BY backend_start;

-- name: has_worker_table
-- Whether this is a database of Mainspring.
SELECT to_regclass('worker') IS NOT NULL;

-- name: workers_present_and_read_clock
-- Workers that were alive within this time.
SELECT id FROM worker WHERE seen_at > clock_timestamp() - :within::interval ORDER BY id;
