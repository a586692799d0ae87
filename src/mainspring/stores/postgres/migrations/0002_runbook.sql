-- What to do when an endpoint fails, written by its owner.
ALTER TABLE endpoint ADD COLUMN runbook text COLLATE "C" NOT NULL DEFAULT '';
