-- Public keys of users' devices. proof: what had proved the user's address when the passkey was added.
CREATE TABLE passkey (
    id            text COLLATE "C" PRIMARY KEY,
    account_id    text COLLATE "C" NOT NULL REFERENCES account (id),
    credential_id text COLLATE "C" NOT NULL UNIQUE,
    name          text COLLATE "C" NOT NULL,
    credential    text COLLATE "C" NOT NULL,
    sign_count    bigint NOT NULL,
    proof         text COLLATE "C" NOT NULL,
    created_at    timestamptz NOT NULL,
    used_at       timestamptz
);
CREATE INDEX passkey_by_account ON passkey (account_id, created_at);
