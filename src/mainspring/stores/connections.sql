-- name: add_connection
-- Insert a connection; its name is unique in its tenant.
INSERT INTO connection (id, tenant_id, name, config, version, created_at, updated_at, managed_by)
VALUES (:id, :tenant_id, :name, :config, :version, :created_at, :updated_at, :managed_by);

-- name: connections
-- All connections of a tenant, by name.
SELECT id, tenant_id, name, config, version, created_at, updated_at, managed_by FROM connection
WHERE tenant_id = :tenant_id ORDER BY name;

-- name: connection_by_name
-- One connection of a tenant, by name or id.
SELECT id, tenant_id, name, config, version, created_at, updated_at, managed_by FROM connection
WHERE tenant_id = :tenant_id AND (name = :name OR id = :name) ORDER BY CASE WHEN id = :name THEN 0 ELSE 1 END LIMIT 1;

-- name: put_connection
-- Update a connection, if its version is the previous one.
UPDATE connection SET config = :config, version = :version, updated_at = :updated_at, managed_by = :managed_by
WHERE tenant_id = :tenant_id AND id = :id AND version = CAST(:version AS bigint) - 1;

-- name: delete_connection
-- Delete a connection and its token.
DELETE FROM connection WHERE tenant_id = :tenant_id AND id = :id;

-- name: connected_endpoints
-- Endpoints, and waiting calls, that may use a connection. The caller compares the name.
SELECT id, name, action, call_key FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND archived_at IS NULL AND action LIKE '%"connection":%'
  AND (call_key IS NULL OR NOT ({{is_done}}))
ORDER BY name;

-- name: connected_subscriptions
-- Webhooks and alerts that may call through a connection. The caller compares the name.
SELECT id, kind, name, config FROM subscription
WHERE tenant_id = :tenant_id AND config LIKE '%"connection":%' ORDER BY name;

-- name: connection_token
-- The access token of a connection, shared by all processes.
SELECT connection_id, tenant_id, version, sealed, expires_at FROM connection_token
WHERE tenant_id = :tenant_id AND connection_id = :id;

-- name: put_connection_token
-- Store an access token, if its connection still has this version.
INSERT INTO connection_token (connection_id, tenant_id, version, sealed, expires_at)
SELECT id, tenant_id, version, :sealed, :expires_at FROM connection WHERE id = :id AND version = :version
ON CONFLICT (connection_id) DO UPDATE SET
    version = excluded.version, sealed = excluded.sealed, expires_at = excluded.expires_at;
