-- People and their places in tenants, what proves who they are, and the audit trail.
CREATE TABLE account (
    id            text COLLATE "C" PRIMARY KEY,
    email         text COLLATE "C" NOT NULL UNIQUE,
    name          text COLLATE "C" NOT NULL,
    is_operator   boolean NOT NULL,
    created_at    timestamptz NOT NULL,
    disabled_at   timestamptz,
    subject       text COLLATE "C" NOT NULL,  -- who this is at the OIDC issuer
    password_hash text COLLATE "C" NOT NULL   -- '': has none
);
CREATE UNIQUE INDEX account_by_subject ON account (subject) WHERE subject <> '';

CREATE TABLE member (
    tenant_id  text COLLATE "C" NOT NULL REFERENCES tenant (id),
    account_id text COLLATE "C" NOT NULL REFERENCES account (id),
    role       text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'operator', 'owner')),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, account_id)
);
CREATE INDEX member_by_account ON member (account_id, tenant_id);

CREATE TABLE api_key (
    id           text COLLATE "C" PRIMARY KEY,
    tenant_id    text COLLATE "C" NOT NULL REFERENCES tenant (id),
    name         text COLLATE "C" NOT NULL,
    scopes       text COLLATE "C" NOT NULL,
    is_operator  boolean NOT NULL,
    created_by   text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    secret_hash  text COLLATE "C" NOT NULL
);
CREATE INDEX api_key_by_tenant ON api_key (tenant_id, created_at);

CREATE TABLE session (
    id         text COLLATE "C" PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL REFERENCES account (id),
    created_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    address    text COLLATE "C" NOT NULL,
    agent      text COLLATE "C" NOT NULL,
    token_hash text COLLATE "C" NOT NULL UNIQUE
);
CREATE INDEX session_by_account ON session (account_id);
CREATE INDEX session_by_end ON session (expires_at);

-- Ways in that open once. account_id '': for the first owner, who does not exist yet.
CREATE TABLE link (
    token_hash text COLLATE "C" PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL,
    expires_at timestamptz NOT NULL
);

-- How far ahead of the clock a bucket of attempts is filled, in microseconds since 1970 in both databases.
CREATE TABLE attempt (
    bucket  text COLLATE "C" PRIMARY KEY,
    free_us bigint NOT NULL
);
CREATE INDEX attempt_by_end ON attempt (free_us);

-- Append only; each entry seals the one before it.
CREATE TABLE audit_entry (
    tenant_id text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,
    at        timestamptz NOT NULL,
    actor     text COLLATE "C" NOT NULL,
    address   text COLLATE "C" NOT NULL,
    act       text COLLATE "C" NOT NULL,
    subject   text COLLATE "C" NOT NULL,
    detail    text COLLATE "C" NOT NULL,
    before    text COLLATE "C" NOT NULL,
    after     text COLLATE "C" NOT NULL,
    key_id    text COLLATE "C" NOT NULL,
    seal      text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, seq)
);
CREATE FUNCTION audit_entry_stays() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit trail is append only'; END $$;
CREATE TRIGGER audit_entry_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry
FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_stays();

CREATE TABLE audit_head (
    tenant_id text COLLATE "C" PRIMARY KEY,
    seq       bigint NOT NULL,
    seal      text COLLATE "C" NOT NULL
);
