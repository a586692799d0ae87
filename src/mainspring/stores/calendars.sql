-- Calendars: queries that both databases share.

-- name: add_calendar
-- Insert a calendar; its name is unique in its tenant.
INSERT INTO calendar (id, tenant_id, name, config, found, found_until, version, created_at, updated_at, managed_by)
VALUES (:id, :tenant_id, :name, :config, :found, :found_until, :version, :created_at, :updated_at, :managed_by);

-- name: calendars
-- Calendars of a tenant by name.
SELECT id, tenant_id, name, config, found, found_until, version, created_at, updated_at, managed_by FROM calendar
WHERE tenant_id = :tenant_id ORDER BY name;

-- name: calendar_versions
-- Which calendars there are, so that a reader knows whether they changed.
SELECT id, tenant_id, version FROM calendar;

-- name: put_calendar
-- Update a calendar, if its version is the previous one.
UPDATE calendar SET config = :config, found = :found, found_until = :found_until, version = :version,
    updated_at = :updated_at, managed_by = :managed_by
WHERE tenant_id = :tenant_id AND id = :id AND version = CAST(:version AS bigint) - 1;

-- name: delete_calendar
-- Delete a calendar.
DELETE FROM calendar WHERE tenant_id = :tenant_id AND id = :id;

-- name: calendar_users
-- Endpoints that name a calendar.
SELECT id, name FROM endpoint
WHERE tenant_id = :tenant_id AND days <> '' AND archived_at IS NULL
  AND (except_calendar = :name OR only_calendar = :name)
ORDER BY name;

-- name: endpoints_with_days
-- Endpoints that have calendars, after one of them by id.
SELECT id FROM endpoint
WHERE tenant_id = :tenant_id AND days <> '' AND archived_at IS NULL AND id > :after
ORDER BY id LIMIT :limit;
