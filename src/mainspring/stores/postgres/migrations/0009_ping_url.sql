-- Ping tokens of endpoints. A token is found by its digest; editors are shown the decrypted token.
CREATE TABLE ping_url (
    endpoint_id text COLLATE "C" PRIMARY KEY REFERENCES endpoint (id) ON DELETE CASCADE,
    tenant_id   text COLLATE "C" NOT NULL,
    digest      text COLLATE "C" NOT NULL UNIQUE,
    sealed      text COLLATE "C" NOT NULL,
    created_at  timestamptz NOT NULL,
    run_key     text COLLATE "C" NOT NULL DEFAULT ''  -- of the run that a ping started and none has ended, as the pinger named it
);
