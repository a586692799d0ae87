-- Named base URLs with credentials, TLS and proxy settings. config: JSON; its secrets are encrypted.
CREATE TABLE connection (
    id         text COLLATE "C" PRIMARY KEY,
    tenant_id  text COLLATE "C" NOT NULL REFERENCES tenant (id),
    name       text COLLATE "C" NOT NULL,
    config     text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    managed_by text COLLATE "C" NOT NULL DEFAULT '',  -- the configuration source that describes it; '': none
    UNIQUE (tenant_id, name)
);

-- Access tokens that processes share, each encrypted and valid for one version of its connection.
CREATE TABLE connection_token (
    connection_id text COLLATE "C" PRIMARY KEY REFERENCES connection (id) ON DELETE CASCADE,
    tenant_id     text COLLATE "C" NOT NULL REFERENCES tenant (id),
    version       bigint NOT NULL,
    sealed        text COLLATE "C" NOT NULL,
    expires_at    timestamptz NOT NULL
);
