-- What a watch reported last, so that the next process knows what to take back.
CREATE TABLE watch_report (
    name     text COLLATE "C" PRIMARY KEY,
    reported text COLLATE "C" NOT NULL
);
