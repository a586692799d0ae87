-- name: passkeys
-- A user's passkeys, oldest first.
SELECT {{passkey_columns}} FROM passkey WHERE account_id = :account_id ORDER BY created_at, id;

-- name: passkey
-- The passkey that a device names.
SELECT {{passkey_columns}} FROM passkey WHERE credential_id = :credential_id;

-- name: add_passkey
-- A new passkey. A credential that is there already belongs to another device, or is sent twice.
INSERT INTO passkey ({{passkey_columns}}) VALUES ({{passkey_parameters}}) ON CONFLICT (credential_id) DO NOTHING;

-- name: rename_passkey
-- Another name for a passkey of a user.
UPDATE passkey SET name = :name WHERE account_id = :account_id AND id = :id;

-- name: remove_passkey
-- One passkey of a user ends.
DELETE FROM passkey WHERE account_id = :account_id AND id = :id;

-- name: remove_passkeys
-- All passkeys of a user end.
DELETE FROM passkey WHERE account_id = :account_id;

-- name: remove_idle_factor
-- Recovery codes end with the last factor that they stand in for.
DELETE FROM second_factor WHERE account_id = :account_id AND confirmed_at IS NULL
AND NOT EXISTS (SELECT 1 FROM passkey WHERE passkey.account_id = second_factor.account_id);

-- name: use_passkey
-- Note a signature. A counter that does not go on belongs to a copy, or to a signature that was used before.
UPDATE passkey SET sign_count = :sign_count, used_at = :used_at
WHERE id = :id AND (sign_count < :sign_count OR (sign_count = 0 AND :sign_count = 0));

-- name: add_challenge
-- What a device is asked to sign.
INSERT INTO challenge ({{challenge_columns}}) VALUES ({{challenge_parameters}});

-- name: take_challenge
-- Use up a challenge.
DELETE FROM challenge WHERE id = :id RETURNING {{challenge_columns}};

-- name: forget_challenges
-- Challenges whose time ran out.
DELETE FROM challenge WHERE expires_at < :now;
