-- A user's second factor: a secret shared with an app that shows codes. last_step: the newest code that was used.
CREATE TABLE second_factor (
    account_id   text COLLATE "C" PRIMARY KEY REFERENCES account (id),
    sealed       text COLLATE "C" NOT NULL,
    confirmed_at timestamptz,          -- NULL: begun, and not in force yet
    last_step    bigint NOT NULL,
    recovery     text COLLATE "C" NOT NULL     -- hashes of the recovery codes that are left, with spaces between them
);
