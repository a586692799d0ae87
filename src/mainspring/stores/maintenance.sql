-- Maintenance windows: queries that both databases share.

-- name: add_maintenance
-- Insert a window.
INSERT INTO maintenance_window ({{maintenance_columns}}) VALUES ({{maintenance_parameters}});

-- name: put_maintenance
-- Update the configuration of a window, if it is unchanged since it was read.
UPDATE maintenance_window SET name = :name, cron = :cron, duration_ms = :duration_ms, timezone = :timezone,
    starts_at = :starts_at, ends_at = :ends_at, endpoint_id = :endpoint_id, job_id = :job_id, runs = :runs,
    description = :description, version = :version, updated_at = :updated_at, managed_by = :managed_by
WHERE tenant_id = :tenant_id AND id = :id AND version = :version - 1;

-- name: delete_maintenance
-- Delete a window.
DELETE FROM maintenance_window WHERE tenant_id = :tenant_id AND id = :id;

-- name: maintenance_windows
-- Windows by name, of one tenant or of all.
SELECT {{maintenance_columns}} FROM maintenance_window
WHERE CAST(:tenant_id AS text) IS NULL OR tenant_id = :tenant_id ORDER BY tenant_id, name;

-- name: maintenance_revision
-- The version that grows with every change of a window, so that schedulers know when to read them again.
SELECT revision FROM maintenance_revision;

-- name: count_maintenance_change
-- Raise the version, so that schedulers read the windows again.
INSERT INTO maintenance_revision (id, revision) VALUES (1, 1)
ON CONFLICT (id) DO UPDATE SET revision = maintenance_revision.revision + 1;

-- name: mark_maintenance
-- Record the window that was open during a run.
UPDATE run SET maintenance = :maintenance WHERE tenant_id = :tenant_id AND id = :id;

-- name: sweep_maintenance
-- Delete single windows that ended before a time, unless a document describes them.
DELETE FROM maintenance_window WHERE ends_at < :before AND managed_by = '';
