-- People and their places in tenants, what proves who they are, and the audit trail. Instants are microseconds, UTC.
CREATE TABLE account (
    id            TEXT PRIMARY KEY,
    email         TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    is_operator   INTEGER NOT NULL CHECK (is_operator IN (0, 1)),
    created_at    INTEGER NOT NULL,
    disabled_at   INTEGER,
    subject       TEXT NOT NULL,  -- who this is at the OIDC issuer
    password_hash TEXT NOT NULL   -- '': has none
) STRICT;
CREATE UNIQUE INDEX account_by_subject ON account (subject) WHERE subject <> '';

CREATE TABLE member (
    tenant_id  TEXT NOT NULL REFERENCES tenant (id),
    account_id TEXT NOT NULL REFERENCES account (id),
    role       TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'owner')),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, account_id)
) STRICT;
CREATE INDEX member_by_account ON member (account_id, tenant_id);

CREATE TABLE api_key (
    id           TEXT PRIMARY KEY,
    tenant_id    TEXT NOT NULL REFERENCES tenant (id),
    name         TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    is_operator  INTEGER NOT NULL CHECK (is_operator IN (0, 1)),
    created_by   TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    secret_hash  TEXT NOT NULL
) STRICT;
CREATE INDEX api_key_by_tenant ON api_key (tenant_id, created_at);

CREATE TABLE session (
    id         TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES account (id),
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    address    TEXT NOT NULL,
    agent      TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE
) STRICT;
CREATE INDEX session_by_account ON session (account_id);
CREATE INDEX session_by_end ON session (expires_at);

-- Ways in that open once. account_id '': for the first owner, who does not exist yet.
CREATE TABLE link (
    token_hash TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

-- How far ahead of the clock a bucket of attempts is filled, in microseconds since 1970 in both databases.
CREATE TABLE attempt (
    bucket  TEXT PRIMARY KEY,
    free_us INTEGER NOT NULL
) STRICT;
CREATE INDEX attempt_by_end ON attempt (free_us);

-- Append only; each entry seals the one before it.
CREATE TABLE audit_entry (
    tenant_id TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    actor     TEXT NOT NULL,
    address   TEXT NOT NULL,
    act       TEXT NOT NULL,
    subject   TEXT NOT NULL,
    detail    TEXT NOT NULL,
    before    TEXT NOT NULL,
    after     TEXT NOT NULL,
    key_id    TEXT NOT NULL,
    seal      TEXT NOT NULL,
    PRIMARY KEY (tenant_id, seq)
) STRICT;
CREATE TRIGGER audit_entry_stays BEFORE UPDATE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'the audit trail is append only'); END;
CREATE TRIGGER audit_entry_remains BEFORE DELETE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'the audit trail is append only'); END;

CREATE TABLE audit_head (
    tenant_id TEXT PRIMARY KEY,
    seq       INTEGER NOT NULL,
    seal      TEXT NOT NULL
) STRICT;
