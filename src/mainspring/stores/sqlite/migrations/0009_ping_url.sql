-- Where an endpoint that calls nothing is pinged. The token is found by its digest, and shown to editors from its seal.
CREATE TABLE ping_url (
    endpoint_id TEXT PRIMARY KEY REFERENCES endpoint (id) ON DELETE CASCADE,
    tenant_id   TEXT NOT NULL,
    digest      TEXT NOT NULL UNIQUE,
    sealed      TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    run_key     TEXT NOT NULL DEFAULT ''  -- of the run that a ping started and none has ended, as the pinger named it
) STRICT;
