-- name: passkeys
-- A user's passkeys, oldest first.
SELECT {{passkey_columns}} FROM passkey WHERE account_id = :account_id ORDER BY created_at, id;

-- name: passkey
-- The passkey with a given credential id.
SELECT {{passkey_columns}} FROM passkey WHERE credential_id = :credential_id;

-- name: add_passkey
-- Insert a passkey. An existing credential id belongs to another device, or was sent twice.
INSERT INTO passkey ({{passkey_columns}}) VALUES ({{passkey_parameters}}) ON CONFLICT (credential_id) DO NOTHING;

-- name: rename_passkey
-- Rename a user's passkey.
UPDATE passkey SET name = :name WHERE account_id = :account_id AND id = :id;

-- name: remove_passkey
-- Delete a user's passkey.
DELETE FROM passkey WHERE account_id = :account_id AND id = :id;

-- name: remove_passkeys
-- Delete all passkeys of a user.
DELETE FROM passkey WHERE account_id = :account_id;

-- name: remove_idle_factor
-- Delete the recovery codes with the last factor that they can replace.
DELETE FROM second_factor WHERE account_id = :account_id AND confirmed_at IS NULL
AND NOT EXISTS (SELECT 1 FROM passkey WHERE passkey.account_id = second_factor.account_id);

-- name: use_passkey
-- Store the counter of a signature. A counter that did not increase belongs to a cloned device or a replayed signature.
UPDATE passkey SET sign_count = :sign_count, used_at = :used_at
WHERE id = :id AND (sign_count < :sign_count OR (sign_count = 0 AND :sign_count = 0));

-- name: add_challenge
-- Insert a challenge.
INSERT INTO challenge ({{challenge_columns}}) VALUES ({{challenge_parameters}});

-- name: take_challenge
-- Use up a challenge.
DELETE FROM challenge WHERE id = :id RETURNING {{challenge_columns}};

-- name: forget_challenges
-- Delete expired challenges.
DELETE FROM challenge WHERE expires_at < :now;
