-- Users, credentials and the audit trail. Both databases speak this text; what differs is in each one's queries.sql.

-- name: add_user
-- A new user.
INSERT INTO account ({{user_columns}}, password_hash) VALUES ({{user_parameters}}, :password_hash);

-- name: user
-- One user by id, e-mail address or OIDC subject, with the password's hash.
SELECT {{user_columns}}, password_hash FROM account WHERE id = :who OR email = :who OR (subject = :who AND subject <> '');

-- name: users
-- Every user, by e-mail address.
SELECT {{user_columns}}, password_hash FROM account ORDER BY email;

-- name: any_user
-- Whether there is a user at all.
SELECT 1 FROM account LIMIT 1;

-- name: put_user
-- What may change about a user.
UPDATE account SET name = :name, is_operator = :is_operator, disabled_at = :disabled_at, subject = :subject,
    proof = :proof, home = :home
WHERE id = :id;

-- name: be_first
-- Take the place of the first user, which only one can.
INSERT INTO installation (key, value) VALUES ('first_user', :id) ON CONFLICT (key) DO NOTHING;

-- name: put_password
-- A user's new password, and what its setting proves.
UPDATE account SET password_hash = :password_hash, proof = :proof WHERE id = :id;

-- name: members
-- Who belongs to a tenant, by e-mail address.
SELECT {{member_columns}}
FROM member JOIN account ON account.id = account_id WHERE tenant_id = :tenant_id ORDER BY email;

-- name: memberships
-- Where a user belongs, by the tenant's name.
SELECT tenant_id, tenant.name, role, member.created_at FROM member JOIN tenant ON tenant.id = tenant_id
WHERE account_id = :account_id ORDER BY tenant.name, tenant_id;

-- name: put_member
-- A user's role in a tenant.
INSERT INTO member (tenant_id, account_id, role, created_at) VALUES (:tenant_id, :account_id, :role, :created_at)
ON CONFLICT (tenant_id, account_id) DO UPDATE SET role = excluded.role;

-- name: remove_member
-- A user leaves a tenant.
DELETE FROM member WHERE tenant_id = :tenant_id AND account_id = :account_id;

-- name: all_tenants
-- Every tenant by its id; what it used is asked for one by one.
SELECT id FROM tenant ORDER BY id;

-- name: two_tenants
-- Whether the installation has more than one tenant; reads no more than two.
SELECT id FROM tenant LIMIT 2;

-- name: add_link
-- A way in that opens once.
INSERT INTO link (token_hash, account_id, expires_at) VALUES (:token_hash, :account_id, :expires_at);

-- name: link
-- Such a way in, without using it.
SELECT account_id, expires_at FROM link WHERE token_hash = :token_hash;

-- name: void_links
-- All ways in of one user are closed.
DELETE FROM link WHERE account_id = :account_id;

-- name: put_invitation
-- Offer a place in a tenant to an address; the link of an earlier offer is closed by this.
INSERT INTO invitation ({{invitation_columns}}, token_hash) VALUES ({{invitation_parameters}}, :token_hash)
ON CONFLICT (tenant_id, email) DO UPDATE SET
    name = excluded.name, role = excluded.role, proof = excluded.proof, created_at = excluded.created_at,
    expires_at = excluded.expires_at, token_hash = excluded.token_hash;

-- name: set_invited_role
-- Offer another role; the link stays.
UPDATE invitation SET role = :role WHERE tenant_id = :tenant_id AND email = :email;

-- name: invitations
-- Who was offered a place in a tenant and has not accepted it, by e-mail address.
SELECT {{invitation_columns}} FROM invitation WHERE tenant_id = :tenant_id ORDER BY email;

-- name: invitation
-- The offer that a link belongs to.
SELECT {{invitation_columns}} FROM invitation WHERE token_hash = :token_hash;

-- name: is_invited
-- Whether an address was offered a place anywhere.
SELECT 1 FROM invitation WHERE email = :email AND expires_at > :now LIMIT 1;

-- name: take_invitation
-- Use up such an offer.
DELETE FROM invitation WHERE token_hash = :token_hash RETURNING {{invitation_columns}};

-- name: remove_invitation
-- Take an offer back.
DELETE FROM invitation WHERE tenant_id = :tenant_id AND email = :email;

-- name: take_link
-- Use up such a way in.
DELETE FROM link WHERE token_hash = :token_hash RETURNING account_id, expires_at;

-- name: forget_links
-- Ways in whose time ran out.
DELETE FROM link WHERE expires_at < :now;

-- name: add_api_key
-- A new API key.
INSERT INTO api_key ({{api_key_columns}}, secret_hash) VALUES ({{api_key_parameters}}, :secret_hash);

-- name: api_keys
-- A tenant's API keys, newest first; never what they are made of.
SELECT {{api_key_columns}} FROM api_key WHERE tenant_id = :tenant_id ORDER BY created_at DESC, id;

-- name: revoke_api_key
-- End an API key.
UPDATE api_key SET revoked_at = :now WHERE tenant_id = :tenant_id AND id = :id AND revoked_at IS NULL;

-- name: touch_api_key
-- Note that a key was used, unless that was noted lately.
UPDATE api_key SET last_used_at = :now WHERE id = :id AND (last_used_at IS NULL OR last_used_at <= :lately);

-- name: add_session
-- A new session.
INSERT INTO session ({{session_columns}}, token_hash) VALUES ({{session_parameters}}, :token_hash);

-- name: touch_session
-- Note that a session is used, unless that was noted lately.
UPDATE session SET seen_at = :now WHERE id = :id AND seen_at <= :lately;

-- name: second_factor
-- A user's second factor.
SELECT account_id, sealed, confirmed_at, last_step, recovery FROM second_factor WHERE account_id = :account_id;

-- name: put_second_factor
-- Begin a second factor, or put it into force.
INSERT INTO second_factor (account_id, sealed, confirmed_at, last_step, recovery)
VALUES (:account_id, :sealed, :confirmed_at, :last_step, :recovery)
ON CONFLICT (account_id) DO UPDATE SET
    sealed = excluded.sealed, confirmed_at = excluded.confirmed_at, last_step = excluded.last_step,
    recovery = excluded.recovery;

-- name: remove_second_factor
-- Take a second factor away.
DELETE FROM second_factor WHERE account_id = :account_id;

-- name: use_step
-- A code is good once, and none before it is any more.
UPDATE second_factor SET last_step = :step WHERE account_id = :account_id AND last_step < :step;

-- name: use_recovery
-- Take one recovery code away, where they are still those that were read.
UPDATE second_factor SET recovery = :fresh WHERE account_id = :account_id AND recovery = :read;

-- name: sessions_of
-- A user's sessions, newest first.
SELECT {{session_columns}} FROM session WHERE account_id = :account_id ORDER BY created_at DESC, id;

-- name: end_session
-- One session is over.
DELETE FROM session WHERE id = :id;

-- name: end_sessions
-- All sessions of a user are over.
DELETE FROM session WHERE account_id = :account_id;

-- name: forget_sessions
-- Sessions that ended by themselves.
DELETE FROM session WHERE expires_at < :now OR seen_at < :idle_since;

-- name: take_turn
-- Fill a bucket of attempts a little, if it is not full: a row comes back where that went well.
INSERT INTO attempt (bucket, free_us) VALUES (:bucket, :first_us)
ON CONFLICT (bucket) DO UPDATE
SET free_us = CASE WHEN attempt.free_us < :now_us THEN :now_us ELSE attempt.free_us END + :every_us
WHERE attempt.free_us <= :latest_us
RETURNING free_us;

-- name: turn_after
-- How far a bucket is filled.
SELECT free_us FROM attempt WHERE bucket = :bucket;

-- name: give_turn_back
-- Undo a turn that was no wrong guess.
UPDATE attempt SET free_us = free_us - :every_us WHERE bucket = :bucket;

-- name: forget_attempts
-- Buckets that are empty again.
DELETE FROM attempt WHERE free_us < :now_us;

-- name: add_audit_head
-- The beginning of a chain, if it has none; PostgreSQL then locks it.
INSERT INTO audit_head (tenant_id, seq, seal) VALUES (:tenant_id, 0, :seal) ON CONFLICT (tenant_id) DO NOTHING;

-- name: put_audit_head
-- How far a chain goes now.
UPDATE audit_head SET seq = :seq, seal = :seal WHERE tenant_id = :tenant_id;

-- name: audit_head
-- How far a chain goes.
SELECT seq, seal FROM audit_head WHERE tenant_id = :tenant_id;

-- name: audit_entries
-- Entries of a chain before one of them, newest first.
SELECT {{audit_columns}} FROM audit_entry WHERE tenant_id = :tenant_id AND seq < :before ORDER BY seq DESC LIMIT :limit;

-- name: audit_entries_after
-- Entries of a chain in their order.
SELECT {{audit_columns}} FROM audit_entry WHERE tenant_id = :tenant_id AND seq > :after ORDER BY seq LIMIT :limit;
