-- Ping tokens of endpoints. A token is found by its digest; editors are shown the decrypted token.
CREATE TABLE ping_url (
    endpoint_id TEXT PRIMARY KEY REFERENCES endpoint (id) ON DELETE CASCADE,
    tenant_id   TEXT NOT NULL,
    digest      TEXT NOT NULL UNIQUE,
    sealed      TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    run_key     TEXT NOT NULL DEFAULT ''  -- of the run that a ping started and none has ended, as the pinger named it
) STRICT;
