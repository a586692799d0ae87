-- Queries that differ from PostgreSQL's, which saves round trips or locks rows.

-- name: api_key_and_read_clock
-- One API key with the hash of its secret. The process's clock is used, so the column of the time is empty.
SELECT {{api_key_columns}}, secret_hash, NULL FROM api_key WHERE id = :id;

-- name: visit_and_read_clock
-- The session of a token and its user, unless that user is disabled. The column of the time is empty, as above.
SELECT {{visit_columns}}, NULL FROM session JOIN account ON account.id = session.account_id
WHERE token_hash = :token_hash AND disabled_at IS NULL;

-- name: lock_audit_head
-- The head of a chain; the write transaction is the lock.
SELECT seq, seal FROM audit_head WHERE tenant_id = :tenant_id;

-- name: add_audit_entries
-- Insert the next entry of a chain.
INSERT INTO audit_entry ({{audit_columns}}) VALUES ({{audit_parameters}});
