-- Named base URLs with credentials, TLS and proxy settings. config: JSON; its secrets are encrypted.
CREATE TABLE connection (
    id         TEXT PRIMARY KEY,
    tenant_id  TEXT NOT NULL REFERENCES tenant (id),
    name       TEXT NOT NULL,
    config     TEXT NOT NULL,
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    managed_by TEXT NOT NULL DEFAULT '',  -- the configuration source that describes it; '': none
    UNIQUE (tenant_id, name)
) STRICT;

-- Access tokens that processes share, each encrypted and valid for one version of its connection.
CREATE TABLE connection_token (
    connection_id TEXT PRIMARY KEY REFERENCES connection (id) ON DELETE CASCADE,
    tenant_id     TEXT NOT NULL REFERENCES tenant (id),
    version       INTEGER NOT NULL,
    sealed        TEXT NOT NULL,
    expires_at    INTEGER NOT NULL
) STRICT;
