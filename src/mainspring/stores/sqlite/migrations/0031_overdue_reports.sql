-- What a watch reported last, so that the next process knows what to take back.
CREATE TABLE watch_report (
    name     TEXT PRIMARY KEY,
    reported TEXT NOT NULL
) STRICT;
