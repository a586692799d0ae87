-- name: fence_schedules
-- Raise every epoch so far that no worker of the original installation can write to the restored one.
UPDATE schedule SET claim_epoch = claim_epoch + 1000000, revision = revision + 1;

-- name: fence_partitions
-- The same for the writers of workflow partitions.
UPDATE workflow_partition SET epoch = epoch + 1000000;

-- name: forget_all_workers
-- Delete the presence of processes of the original installation.
DELETE FROM worker;

-- name: put_installation
-- Set a value of the installation, whether or not it exists.
INSERT INTO installation (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
