-- What to do when an endpoint fails, as its owner wrote it down.
ALTER TABLE endpoint ADD COLUMN runbook TEXT NOT NULL DEFAULT '';
