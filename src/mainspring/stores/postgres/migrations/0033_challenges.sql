-- What devices are asked to sign: each once, within minutes.
CREATE TABLE challenge (
    id         text COLLATE "C" PRIMARY KEY,
    ceremony   text COLLATE "C" NOT NULL,
    bound_to   text COLLATE "C" NOT NULL,   -- a session, a user, or '' for a login that begins with a passkey
    value      text COLLATE "C" NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX challenge_by_end ON challenge (expires_at);
