-- What PostgreSQL says otherwise, to save a round trip or to lock a row.

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
