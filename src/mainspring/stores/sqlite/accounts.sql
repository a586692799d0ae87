-- What PostgreSQL says otherwise, to save a round trip or to lock a row.

-- name: api_key
-- One API key with the hash of its secret.
SELECT {{api_key_columns}}, secret_hash FROM api_key WHERE id = :id;

-- name: visit
-- The session of a token and its user, where that user is not disabled.
SELECT {{visit_columns}} FROM session JOIN account ON account.id = session.account_id
WHERE token_hash = :token_hash AND disabled_at IS NULL;

-- name: lock_audit_head
-- How far a chain goes; the write transaction that reads it is the lock.
SELECT seq, seal FROM audit_head WHERE tenant_id = :tenant_id;

-- name: add_audit_entry
-- The next entry of a chain.
INSERT INTO audit_entry ({{audit_columns}}) VALUES ({{audit_parameters}});
