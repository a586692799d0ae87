-- Answers that are given again when a request is sent again under the same Idempotency-Key. Sealed: an answer may hold
-- a key that is shown once. No answer yet: the first request is still at work, until its claim ends.
CREATE TABLE answer (
    tenant_id     text COLLATE "C" NOT NULL,
    actor         text COLLATE "C" NOT NULL,
    key           text COLLATE "C" NOT NULL,
    request       text COLLATE "C" NOT NULL,
    answer        text COLLATE "C",
    claimed_until timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, actor, key)
);
CREATE INDEX answer_by_expiry ON answer (expires_at);
