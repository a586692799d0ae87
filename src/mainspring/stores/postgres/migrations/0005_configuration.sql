-- Which configuration source describes a job or an endpoint; '' is none. The rows stay as they are.
ALTER TABLE job ADD COLUMN managed_by text NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN managed_by text NOT NULL DEFAULT '';
