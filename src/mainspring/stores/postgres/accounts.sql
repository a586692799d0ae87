-- Queries that differ from SQLite's, where a round trip costs nothing and the write transaction is the lock.

-- name: api_key_and_read_clock
-- One API key with the hash of its secret, and the time of the database, in one round trip.
SELECT {{api_key_columns}}, secret_hash, clock_timestamp() FROM api_key WHERE id = :id;

-- name: visit_and_read_clock
-- The session of a token and its user, unless that user is disabled, and the time of the database.
SELECT {{visit_columns}}, clock_timestamp() FROM session JOIN account ON account.id = session.account_id
WHERE token_hash = :token_hash AND disabled_at IS NULL;

-- name: lock_audit_head
-- The head of a chain, locked until the transaction ends.
SELECT seq, seal FROM audit_head WHERE tenant_id = :tenant_id FOR UPDATE;

-- name: lock_tenant
-- Lock the members of a tenant until the transaction ends.
SELECT id FROM tenant WHERE id = :id FOR UPDATE;

-- name: add_audit_entries
-- Insert the next entries of a chain, in one statement: applying a document may write thousands.
INSERT INTO audit_entry ({{audit_columns}}) SELECT * FROM unnest({{audit_arrays}});
