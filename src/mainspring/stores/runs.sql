-- name: run
-- One run.
SELECT {{run_columns}} FROM run WHERE tenant_id = :tenant_id AND id = :id;

-- name: body
-- The response of a run.
SELECT body, body_type, body_truncated, body_seen FROM run WHERE tenant_id = :tenant_id AND id = :id;

-- name: add_run
-- Insert a test run.
INSERT INTO run ({{run_columns}}) VALUES ({{run_parameters}});

-- name: add_body
-- Store the body of a run.
UPDATE run SET body_type = :body_type, body_truncated = :truncated, body_seen = :seen, body = :body
WHERE tenant_id = :tenant_id AND id = :id;

-- name: signing_keys
-- A tenant's signing keys, without their secrets.
SELECT id, created_at FROM signing_key WHERE tenant_id = :tenant_id ORDER BY created_at DESC, id DESC;

-- name: add_signing_key
-- Insert a signing key.
INSERT INTO signing_key (id, tenant_id, sealed, created_at) VALUES (:id, :tenant_id, :sealed, :created_at);

-- name: revoke_signing_key
-- Revoke a signing key.
DELETE FROM signing_key WHERE tenant_id = :tenant_id AND id = :id;

-- name: runs
-- A tenant's runs, newest first.
SELECT {{run_columns}} FROM run
WHERE tenant_id = :tenant_id AND (CAST(:before AS text) IS NULL OR id < :before)
  AND {{ended_so}}
ORDER BY id DESC LIMIT :limit;

-- name: runs_of_endpoint
-- An endpoint's runs, newest first.
SELECT {{run_columns}} FROM run
WHERE tenant_id = :tenant_id AND endpoint_id = :endpoint_id AND (CAST(:before AS text) IS NULL OR id < :before)
  AND {{ended_so}}
ORDER BY id DESC LIMIT :limit;

-- name: past_run
-- The newest run of an earlier slot, or the newest success, among an endpoint's last 200 runs.
SELECT status, status_code, slot_at, detail, body FROM run
WHERE tenant_id = :tenant_id AND id = (
  SELECT id FROM (
    SELECT id, status, slot_at, trigger FROM run
    WHERE tenant_id = :tenant_id AND endpoint_id = :endpoint_id ORDER BY id DESC LIMIT 200
  ) AS recent
  WHERE slot_at < :before AND trigger <> 'test'
    AND (status = 'success' OR (NOT :successes_only AND status IN ('failure', 'timeout')))
  ORDER BY id DESC LIMIT 1
);
