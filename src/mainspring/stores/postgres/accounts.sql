-- What SQLite says otherwise: there a round trip costs nothing, and the write transaction is the lock.

-- name: api_key_and_read_clock
-- One API key with the hash of its secret, and what time it is, in one round trip.
SELECT {{api_key_columns}}, secret_hash, clock_timestamp() FROM api_key WHERE id = :id;

-- name: visit_and_read_clock
-- The session of a token and its user, where that user is not disabled, and what time it is.
SELECT {{visit_columns}}, clock_timestamp() FROM session JOIN account ON account.id = session.account_id
WHERE token_hash = :token_hash AND disabled_at IS NULL;

-- name: lock_audit_head
-- How far a chain goes; nobody else can lengthen it until this transaction ends.
SELECT seq, seal FROM audit_head WHERE tenant_id = :tenant_id FOR UPDATE;

-- name: lock_tenant
-- Nobody else changes who belongs to a tenant until this transaction ends.
SELECT id FROM tenant WHERE id = :id FOR UPDATE;

-- name: add_audit_entries
-- The next entries of a chain, in one statement: a file of configuration may bring thousands.
INSERT INTO audit_entry ({{audit_columns}}) SELECT * FROM unnest({{audit_arrays}});
