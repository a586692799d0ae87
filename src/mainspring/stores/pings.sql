-- name: ping_targets
-- The endpoints of tokens, by the digests of the tokens.
SELECT endpoint_id, digest FROM ping_url WHERE digest {{in_ids}};

-- name: ping_urls_of
-- The digests of these endpoints' tokens and the keys of their open runs, read after the endpoints are locked.
SELECT endpoint_id, digest, run_key FROM ping_url WHERE endpoint_id {{in_ids}};

-- name: ping_url
-- The encrypted token of an endpoint.
SELECT sealed, created_at FROM ping_url WHERE tenant_id = :tenant_id AND endpoint_id = :endpoint_id;

-- name: put_ping_url
-- Set the token of an endpoint; the previous one becomes invalid.
INSERT INTO ping_url (endpoint_id, tenant_id, digest, sealed, created_at)
VALUES (:endpoint_id, :tenant_id, :digest, :sealed, :created_at)
ON CONFLICT (endpoint_id) DO UPDATE SET digest = excluded.digest, sealed = excluded.sealed, created_at = excluded.created_at;

-- name: revoke_ping_url
-- Delete the token of an endpoint.
DELETE FROM ping_url WHERE tenant_id = :tenant_id AND endpoint_id = :endpoint_id;

-- name: write_run_key
-- Set the key of the run that a ping started; '' once the run has ended.
UPDATE ping_url SET run_key = :run_key WHERE endpoint_id = :endpoint_id;

-- name: end_pinged_run
-- Record the result of a run that pings started and ended.
UPDATE run SET status = :status, finished_at = :finished_at, duration_ms = :duration_ms, status_code = :status_code,
    error_code = :error_code, error = :error
WHERE tenant_id = :tenant_id AND id = :id AND status = 'running';

-- name: close_judged_run
-- Close the judgement of a deadline that a ping preceded.
UPDATE run SET status = :status, error = :error, finished_at = :finished_at
WHERE tenant_id = :tenant_id AND id = :id AND status = 'running';

-- name: sealed_ping_url
-- The tokens of all tenants.
SELECT endpoint_id, tenant_id, sealed, 0 FROM ping_url WHERE endpoint_id > :after ORDER BY endpoint_id LIMIT :limit;

-- name: reseal_ping_url
-- Store a token encrypted with another key.
UPDATE ping_url SET sealed = :fresh WHERE endpoint_id = :id AND sealed = :read;
