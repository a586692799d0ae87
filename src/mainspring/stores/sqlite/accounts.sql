-- What PostgreSQL says otherwise, to save a round trip or to lock a row.

-- name: tenants_by_id
-- Tenants with what they used this month, by id.
SELECT id, name, runs_per_month, tokens_per_month, endpoints_max, interval_ms_min,
       (SELECT COALESCE(SUM(runs), 0) FROM usage WHERE usage.tenant_id = tenant.id AND month = :month)
FROM tenant WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY id;

-- name: signing_keys_by_tenant
-- The sealed signing keys of tenants, newest first.
SELECT tenant_id, sealed FROM signing_key WHERE tenant_id IN (SELECT value FROM json_each(:ids))
ORDER BY tenant_id, created_at DESC, id DESC;

-- name: api_key_and_read_clock
-- One API key with the hash of its secret. The clock is the process's own here, so its place is empty.
SELECT {{api_key_columns}}, secret_hash, NULL FROM api_key WHERE id = :id;

-- name: visit_and_read_clock
-- The session of a token and its user, where that user is not disabled. The place of the clock is empty, as above.
SELECT {{visit_columns}}, NULL FROM session JOIN account ON account.id = session.account_id
WHERE token_hash = :token_hash AND disabled_at IS NULL;

-- name: lock_audit_head
-- How far a chain goes; the write transaction that reads it is the lock.
SELECT seq, seal FROM audit_head WHERE tenant_id = :tenant_id;

-- name: add_audit_entries
-- The next entries of a chain.
INSERT INTO audit_entry ({{audit_columns}}) VALUES ({{audit_parameters}});
