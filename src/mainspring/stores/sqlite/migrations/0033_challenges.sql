-- What devices are asked to sign: each once, within minutes.
CREATE TABLE challenge (
    id         TEXT PRIMARY KEY,
    ceremony   TEXT NOT NULL,
    bound_to   TEXT NOT NULL,   -- a session, a user, or '' for a login that begins with a passkey
    value      TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX challenge_by_end ON challenge (expires_at);
