-- A run that its target accepted and that a callback ends: its start, its deadline, and its progress. JSON; '': none.
ALTER TABLE schedule ADD COLUMN waiting text COLLATE "C" NOT NULL DEFAULT '';
