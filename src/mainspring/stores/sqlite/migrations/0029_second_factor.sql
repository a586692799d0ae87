-- A user's second factor: a secret shared with an app that shows codes. last_step: the newest code that was used.
CREATE TABLE second_factor (
    account_id   TEXT PRIMARY KEY REFERENCES account (id),
    sealed       TEXT NOT NULL,
    confirmed_at INTEGER,          -- NULL: begun, and not in force yet
    last_step    INTEGER NOT NULL,
    recovery     TEXT NOT NULL     -- hashes of the recovery codes that are left, with spaces between them
) STRICT;
