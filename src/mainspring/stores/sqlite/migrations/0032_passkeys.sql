-- Public keys of users' devices. proof: what had proved the user's address when the passkey was added.
CREATE TABLE passkey (
    id            TEXT PRIMARY KEY,
    account_id    TEXT NOT NULL REFERENCES account (id),
    credential_id TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    credential    TEXT NOT NULL,
    sign_count    INTEGER NOT NULL,
    proof         TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    used_at       INTEGER
) STRICT;
CREATE INDEX passkey_by_account ON passkey (account_id, created_at);
