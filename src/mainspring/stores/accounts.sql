-- Users, credentials and the audit trail: queries that both databases share. Each database's accounts.sql has the rest.

-- name: add_user
-- Insert a user.
INSERT INTO account ({{user_columns}}, password_hash) VALUES ({{user_parameters}}, :password_hash);

-- name: user
-- One user by id, email address or OIDC subject, with the password's hash.
SELECT {{user_columns}}, password_hash FROM account WHERE id = :who OR email = :who OR (subject = :who AND subject <> '');

-- name: users
-- Every user, by email address.
SELECT {{user_columns}}, password_hash FROM account ORDER BY email;

-- name: any_user
-- Whether any user exists.
SELECT 1 FROM account LIMIT 1;

-- name: put_user
-- Update the changeable fields of a user.
UPDATE account SET name = :name, is_operator = :is_operator, disabled_at = :disabled_at, subject = :subject,
    proof = :proof, home = :home
WHERE id = :id;

-- name: be_first
-- Claim the position of the first user; only one user can have it.
INSERT INTO installation (key, value) VALUES ('first_user', :id) ON CONFLICT (key) DO NOTHING;

-- name: put_password
-- Set a user's password, and what setting it proves.
UPDATE account SET password_hash = :password_hash, proof = :proof WHERE id = :id;

-- name: members
-- The members of a tenant, by email address.
SELECT {{member_columns}}
FROM member JOIN account ON account.id = account_id WHERE tenant_id = :tenant_id ORDER BY email;

-- name: memberships
-- The tenants that a user is a member of, by name.
SELECT tenant_id, tenant.name, role, member.created_at FROM member JOIN tenant ON tenant.id = tenant_id
WHERE account_id = :account_id ORDER BY tenant.name, tenant_id;

-- name: put_member
-- Insert a member, or update a member's role.
INSERT INTO member (tenant_id, account_id, role, created_at) VALUES (:tenant_id, :account_id, :role, :created_at)
ON CONFLICT (tenant_id, account_id) DO UPDATE SET role = excluded.role;

-- name: remove_member
-- Remove a user from a tenant.
DELETE FROM member WHERE tenant_id = :tenant_id AND account_id = :account_id;

-- name: all_tenants
-- Every tenant, by id; usage is read separately for each.
SELECT id FROM tenant ORDER BY id;

-- name: two_tenants
-- Whether the installation has more than one tenant; reads two at most.
SELECT id FROM tenant LIMIT 2;

-- name: add_link
-- Insert a one-time link.
INSERT INTO link (token_hash, account_id, expires_at) VALUES (:token_hash, :account_id, :expires_at);

-- name: link
-- A one-time link, without using it.
SELECT account_id, expires_at FROM link WHERE token_hash = :token_hash;

-- name: void_links
-- Delete all one-time links of a user.
DELETE FROM link WHERE account_id = :account_id;

-- name: put_invitation
-- Invite an address to a tenant; replaces an earlier invitation and its link.
INSERT INTO invitation ({{invitation_columns}}, token_hash) VALUES ({{invitation_parameters}}, :token_hash)
ON CONFLICT (tenant_id, email) DO UPDATE SET
    name = excluded.name, role = excluded.role, proof = excluded.proof, created_at = excluded.created_at,
    expires_at = excluded.expires_at, token_hash = excluded.token_hash;

-- name: set_invited_role
-- Change the role of an invitation; the link stays valid.
UPDATE invitation SET role = :role WHERE tenant_id = :tenant_id AND email = :email;

-- name: invitations
-- The pending invitations of a tenant, by email address.
SELECT {{invitation_columns}} FROM invitation WHERE tenant_id = :tenant_id ORDER BY email;

-- name: invitation
-- The invitation of a link.
SELECT {{invitation_columns}} FROM invitation WHERE token_hash = :token_hash;

-- name: is_invited
-- Whether an address is invited to any tenant.
SELECT 1 FROM invitation WHERE email = :email AND expires_at > :now LIMIT 1;

-- name: take_invitation
-- Use up an invitation.
DELETE FROM invitation WHERE token_hash = :token_hash RETURNING {{invitation_columns}};

-- name: remove_invitation
-- Withdraw an invitation.
DELETE FROM invitation WHERE tenant_id = :tenant_id AND email = :email;

-- name: take_link
-- Use up a one-time link.
DELETE FROM link WHERE token_hash = :token_hash RETURNING account_id, expires_at;

-- name: forget_links
-- Delete expired one-time links.
DELETE FROM link WHERE expires_at < :now;

-- name: add_api_key
-- Insert an API key.
INSERT INTO api_key ({{api_key_columns}}, secret_hash) VALUES ({{api_key_parameters}}, :secret_hash);

-- name: api_keys
-- A tenant's API keys, newest first, without their hashes.
SELECT {{api_key_columns}} FROM api_key WHERE tenant_id = :tenant_id ORDER BY created_at DESC, id;

-- name: revoke_api_key
-- Revoke an API key.
UPDATE api_key SET revoked_at = :now WHERE tenant_id = :tenant_id AND id = :id AND revoked_at IS NULL;

-- name: touch_api_key
-- Record that a key was used, unless that was recorded recently.
UPDATE api_key SET last_used_at = :now WHERE id = :id AND (last_used_at IS NULL OR last_used_at <= :lately);

-- name: add_session
-- Insert a login session.
INSERT INTO session ({{session_columns}}, token_hash) VALUES ({{session_parameters}}, :token_hash);

-- name: touch_session
-- Record that a session was used, unless that was recorded recently.
UPDATE session SET seen_at = :now WHERE id = :id AND seen_at <= :lately;

-- name: second_factor
-- A user's second factor.
SELECT account_id, sealed, confirmed_at, last_step, recovery FROM second_factor WHERE account_id = :account_id;

-- name: put_second_factor
-- Enrol a second factor, or activate it.
INSERT INTO second_factor (account_id, sealed, confirmed_at, last_step, recovery)
VALUES (:account_id, :sealed, :confirmed_at, :last_step, :recovery)
ON CONFLICT (account_id) DO UPDATE SET
    sealed = excluded.sealed, confirmed_at = excluded.confirmed_at, last_step = excluded.last_step,
    recovery = excluded.recovery;

-- name: remove_second_factor
-- Delete a second factor.
DELETE FROM second_factor WHERE account_id = :account_id;

-- name: use_step
-- Record the code that was used; that code and all earlier ones are no longer valid.
UPDATE second_factor SET last_step = :step WHERE account_id = :account_id AND last_step < :step;

-- name: use_recovery
-- Remove a recovery code, if the codes are unchanged since they were read.
UPDATE second_factor SET recovery = :fresh WHERE account_id = :account_id AND recovery = :read;

-- name: sessions_of
-- A user's sessions, newest first.
SELECT {{session_columns}} FROM session WHERE account_id = :account_id ORDER BY created_at DESC, id;

-- name: end_session
-- End a session.
DELETE FROM session WHERE id = :id;

-- name: end_sessions
-- End all sessions of a user.
DELETE FROM session WHERE account_id = :account_id;

-- name: forget_sessions
-- Delete expired sessions.
DELETE FROM session WHERE expires_at < :now OR seen_at < :idle_since;

-- name: take_turn
-- Add one attempt to a rate-limit bucket that is not full; returns a row on success.
INSERT INTO attempt (bucket, free_us) VALUES (:bucket, :first_us)
ON CONFLICT (bucket) DO UPDATE
SET free_us = CASE WHEN attempt.free_us < :now_us THEN :now_us ELSE attempt.free_us END + :every_us
WHERE attempt.free_us <= :latest_us
RETURNING free_us;

-- name: turn_after
-- The level of a bucket.
SELECT free_us FROM attempt WHERE bucket = :bucket;

-- name: give_turn_back
-- Take back an attempt that was not a wrong guess.
UPDATE attempt SET free_us = free_us - :every_us WHERE bucket = :bucket;

-- name: forget_attempts
-- Delete empty buckets.
DELETE FROM attempt WHERE free_us < :now_us;

-- name: add_audit_head
-- Create the head of a chain, if it does not exist. PostgreSQL then locks it.
INSERT INTO audit_head (tenant_id, seq, seal) VALUES (:tenant_id, 0, :seal) ON CONFLICT (tenant_id) DO NOTHING;

-- name: put_audit_head
-- Update the head of a chain.
UPDATE audit_head SET seq = :seq, seal = :seal WHERE tenant_id = :tenant_id;

-- name: audit_head
-- The head of a chain.
SELECT seq, seal FROM audit_head WHERE tenant_id = :tenant_id;

-- name: audit_entries
-- Entries of a chain before a given one, newest first.
SELECT {{audit_columns}} FROM audit_entry WHERE tenant_id = :tenant_id AND seq < :before ORDER BY seq DESC LIMIT :limit;

-- name: audit_entries_after
-- Entries of a chain, oldest first.
SELECT {{audit_columns}} FROM audit_entry WHERE tenant_id = :tenant_id AND seq > :after ORDER BY seq LIMIT :limit;
