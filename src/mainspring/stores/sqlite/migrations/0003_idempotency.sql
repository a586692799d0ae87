-- Answers that are given again when a request is sent again under the same Idempotency-Key. Sealed: an answer may hold
-- a key that is shown once. No answer yet: the first request is still at work, until its claim ends.
CREATE TABLE answer (
    tenant_id     TEXT NOT NULL,
    actor         TEXT NOT NULL,
    key           TEXT NOT NULL,
    request       TEXT NOT NULL,
    answer        TEXT,
    claimed_until INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, actor, key)
) STRICT;
CREATE INDEX answer_by_expiry ON answer (expires_at);
