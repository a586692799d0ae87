-- name: fence_schedules
-- Move every epoch far ahead, so that no worker of the installation a backup was made of can write here.
UPDATE schedule SET claim_epoch = claim_epoch + 1000000, revision = revision + 1;

-- name: fence_partitions
-- The same for those that write the partitions of workflows.
UPDATE workflow_partition SET epoch = epoch + 1000000;

-- name: forget_all_workers
-- Whoever was alive there is not alive here.
DELETE FROM worker;

-- name: put_installation
-- A value of this installation, whether it had one or not.
INSERT INTO installation (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
