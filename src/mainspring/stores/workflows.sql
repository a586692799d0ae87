-- Workflows: queries that both databases share. Times are microseconds.

-- name: add_workflow_version
-- Insert the next version of a workflow.
INSERT INTO workflow_version (tenant_id, name, version, document, model, actor, created_us)
VALUES (:tenant_id, :name, :version, :document, :model, :actor, :created_us);

-- name: newest_workflow_version
-- The number of the newest version.
SELECT COALESCE(MAX(version), 0) FROM workflow_version WHERE tenant_id = :tenant_id AND name = :name;

-- name: workflow_version
-- One version of a workflow.
SELECT model, version, document, actor, created_us, archived_us FROM workflow_version
LEFT JOIN archived_workflow USING (tenant_id, name)
WHERE tenant_id = :tenant_id AND name = :name AND version = :version;

-- name: workflow_versions
-- Every version of a workflow, newest first.
SELECT model, version, document, actor, created_us, archived_us FROM workflow_version
LEFT JOIN archived_workflow USING (tenant_id, name)
WHERE tenant_id = :tenant_id AND name = :name ORDER BY version DESC;

-- name: newest_workflows
-- The newest version of every workflow, by name.
SELECT model, version, document, actor, created_us, archived_us FROM workflow_version AS one
LEFT JOIN archived_workflow USING (tenant_id, name)
WHERE tenant_id = :tenant_id AND version = (
    SELECT MAX(version) FROM workflow_version WHERE tenant_id = one.tenant_id AND name = one.name)
ORDER BY name;

-- name: archive_workflow
-- Archive a workflow: it cannot be started any more.
INSERT INTO archived_workflow (tenant_id, name, archived_us) VALUES (:tenant_id, :name, :archived_us)
ON CONFLICT (tenant_id, name) DO NOTHING;

-- name: restore_workflow
-- Restore an archived workflow.
DELETE FROM archived_workflow WHERE tenant_id = :tenant_id AND name = :name;

-- name: add_partition
-- Insert a partition with the time of its tick 0, if it does not exist.
INSERT INTO workflow_partition (partition, zero_us, resolution_ms, epoch, tick, sequence, arrivals, head, lease_until_us, worker)
VALUES (:partition, :zero_us, :resolution_ms, 0, -1, 0, 0, '', 0, '') ON CONFLICT (partition) DO NOTHING;

-- name: partition_clock
-- The time of tick 0 and the length of a tick.
SELECT zero_us, resolution_ms FROM workflow_partition WHERE partition = :partition;

-- name: lead_partition
-- Become the writer of a partition whose lease has expired, under a new epoch.
UPDATE workflow_partition SET epoch = epoch + 1, lease_until_us = :lease_until_us, worker = :worker
WHERE partition = :partition AND lease_until_us <= :now_us;

-- name: partition
-- The state of a partition.
SELECT epoch, tick, sequence, head, zero_us, resolution_ms, worker FROM workflow_partition WHERE partition = :partition;

-- name: partition_views
-- Every partition, the earliest tick in its queue, its oldest arrival, and its number of overdue executions.
SELECT partition, tick, sequence, worker, lease_until_us, zero_us, resolution_ms,
    (SELECT tick FROM execution_ready WHERE partition = one.partition ORDER BY tick LIMIT 1),
    (SELECT arrived_us FROM execution_arrival WHERE partition = one.partition AND number IS NULL
     ORDER BY arrived_us LIMIT 1),
    (SELECT COUNT(*) FROM execution_ready WHERE partition = one.partition
       AND tick < (:before_us - one.zero_us) / (one.resolution_ms * 1000))
FROM workflow_partition AS one ORDER BY partition;

-- name: partition_members
-- A page of the executions of a partition, of all tenants.
SELECT state, tenant_id, partition, correlation, idempotency_key, actor, created_us, moved_us FROM execution
WHERE partition = :partition AND id > :after ORDER BY id LIMIT :limit;

-- name: watch_report
-- The last report of a watch.
SELECT reported FROM watch_report WHERE name = :name;

-- name: move_watch_report
-- Store the report of a watch, if no other process has done so since it was read.
INSERT INTO watch_report (name, reported) VALUES (:name, :reported)
ON CONFLICT (name) DO UPDATE SET reported = excluded.reported WHERE watch_report.reported = :before;

-- name: overdue_by_tenant
-- The number of executions of each tenant that should have moved before a time.
SELECT execution.tenant_id, COUNT(*) FROM workflow_partition AS one
JOIN execution_ready ON execution_ready.partition = one.partition
    AND execution_ready.tick < (:before_us - one.zero_us) / (one.resolution_ms * 1000)
JOIN execution ON execution.id = execution_ready.execution_id
GROUP BY execution.tenant_id;

-- name: oldest_effect
-- Since when the oldest unsent effect has waited.
SELECT MIN(due_us) FROM execution_effect WHERE status = 'ready';

-- name: renew_lease
-- Extend the lease of a partition.
UPDATE workflow_partition SET lease_until_us = :lease_until_us WHERE partition = :partition AND epoch = :epoch;

-- name: ready_by_arrival
-- Executions with arrivals before this tick, by the tick in which they may first process them.
SELECT (MIN(arrived_us) - :zero_us) / :step_us + 1 AS ready, execution_id FROM execution_arrival
WHERE partition = :partition AND number IS NULL AND arrived_us < :before_us
GROUP BY execution_id ORDER BY ready, execution_id LIMIT :limit;

-- name: ended_executions
-- Executions that ended long ago and have no arrivals left to process.
SELECT id FROM execution WHERE partition = :partition AND ended_us < :before_us
  AND NOT EXISTS (SELECT 1 FROM execution_arrival WHERE execution_id = execution.id AND number IS NULL)
ORDER BY ended_us LIMIT :limit;

-- name: delete_execution
-- Delete an execution past its retention.
DELETE FROM execution WHERE id = :id;

-- name: delete_entries
-- Delete its log.
DELETE FROM execution_entry WHERE execution_id = :id;

-- name: delete_arrivals
-- Delete its arrivals.
DELETE FROM execution_arrival WHERE execution_id = :id;

-- name: delete_effects
-- Delete its effects.
DELETE FROM execution_effect WHERE execution_id = :id;

-- name: add_checkpoint
-- Insert a signed checkpoint of a partition.
INSERT INTO workflow_checkpoint (partition, sequence, tick, head, signed_us, public_key, signature)
VALUES (:partition, :sequence, :tick, :head, :signed_us, :public_key, :signature)
ON CONFLICT (partition, sequence) DO NOTHING;

-- name: checkpoints
-- A page of a partition's checkpoints.
SELECT partition, sequence, tick, head, signed_us, public_key, signature FROM workflow_checkpoint
WHERE partition = :partition AND sequence > :after ORDER BY sequence LIMIT :limit;

-- name: chain_start
-- The checkpoint right before the first remaining tick, or before the next tick if none remains.
SELECT partition, sequence, tick, head, signed_us, public_key, signature FROM workflow_checkpoint
WHERE partition = :partition AND sequence = COALESCE(
    (SELECT MIN(sequence) - 1 FROM workflow_tick WHERE partition = :partition),
    (SELECT sequence FROM workflow_partition WHERE partition = :partition));

-- name: forget_ticks
-- Delete the ticks that a checkpoint replaces.
DELETE FROM workflow_tick WHERE partition = :partition AND sequence <= :sequence;

-- name: forget_checkpoints
-- Delete the checkpoints of removed ticks, except for the last one.
DELETE FROM workflow_checkpoint WHERE partition = :partition AND sequence < :sequence;

-- name: add_execution
-- Insert an execution, unless its idempotency key is taken.
INSERT INTO execution (id, tenant_id, workflow, version, partition, correlation, idempotency_key, salt, status, step, ready_tick, number,
    head, outcome, error, actor, created_us, moved_us, state) VALUES (:id, :tenant_id, :workflow, :version, :partition, :correlation, :idempotency_key, :salt, :status, :step, :ready_tick, :number,
    :head, :outcome, :error, :actor, :created_us, :moved_us, :state)
ON CONFLICT (tenant_id, workflow, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING;

-- name: execution_by_key
-- The execution that was started under an idempotency key.
SELECT state, tenant_id, partition, correlation, idempotency_key, actor, created_us, moved_us FROM execution
WHERE tenant_id = :tenant_id AND workflow = :workflow AND idempotency_key = :idempotency_key;

-- name: execution
-- One execution.
SELECT state, tenant_id, partition, correlation, idempotency_key, actor, created_us, moved_us FROM execution WHERE tenant_id = :tenant_id AND id = :id;

-- name: execution_row
-- One execution as its columns describe it, with its state, and whether it is in the queue.
SELECT state, workflow, version, salt, status, step, ready_tick, number, head, outcome, error,
    CASE WHEN ready_tick IS NULL OR EXISTS (SELECT 1 FROM execution_ready AS place WHERE place.partition = execution.partition
        AND place.tick = execution.ready_tick AND place.execution_id = execution.id) THEN 1 ELSE 0 END
FROM execution WHERE tenant_id = :tenant_id AND id = :id;

-- name: executions
-- A tenant's executions, newest first.
SELECT state, tenant_id, partition, correlation, idempotency_key, actor, created_us, moved_us FROM execution
WHERE tenant_id = :tenant_id AND (CAST(:workflow AS TEXT) IS NULL OR workflow = :workflow)
  AND (CAST(:status AS TEXT) IS NULL OR status = :status)
  AND (CAST(:correlation AS TEXT) IS NULL OR correlation = :correlation)
  AND (CAST(:before AS TEXT) IS NULL OR id < :before)
  AND (CAST(:version AS BIGINT) IS NULL OR version = :version)
  AND (CAST(:step AS TEXT) IS NULL OR step = :step)
  AND (CAST(:key AS TEXT) IS NULL OR idempotency_key = :key)
ORDER BY id DESC LIMIT :limit;

-- name: executions_in_need
-- The same for executions that wait for a person, as a separate query, because a partial index contains only these.
SELECT state, tenant_id, partition, correlation, idempotency_key, actor, created_us, moved_us FROM execution
WHERE tenant_id = :tenant_id AND status IN ('failed', 'paused')
  AND (CAST(:workflow AS TEXT) IS NULL OR workflow = :workflow)
  AND (CAST(:status AS TEXT) IS NULL OR status = :status)
  AND (CAST(:correlation AS TEXT) IS NULL OR correlation = :correlation)
  AND (CAST(:before AS TEXT) IS NULL OR id < :before)
  AND (CAST(:version AS BIGINT) IS NULL OR version = :version)
  AND (CAST(:step AS TEXT) IS NULL OR step = :step)
  AND (CAST(:key AS TEXT) IS NULL OR idempotency_key = :key)
ORDER BY id DESC LIMIT :limit;

-- name: count_executions
-- The number of executions that match a filter.
SELECT COUNT(*) FROM execution
WHERE tenant_id = :tenant_id AND (CAST(:workflow AS TEXT) IS NULL OR workflow = :workflow)
  AND (CAST(:status AS TEXT) IS NULL OR status = :status)
  AND (CAST(:correlation AS TEXT) IS NULL OR correlation = :correlation)
  AND (CAST(:version AS BIGINT) IS NULL OR version = :version)
  AND (CAST(:step AS TEXT) IS NULL OR step = :step)
  AND (CAST(:key AS TEXT) IS NULL OR idempotency_key = :key)
  AND (CAST(:in_need AS BIGINT) = 0 OR status IN ('failed', 'paused'));

-- name: running_under
-- Running executions with a correlation key, of one workflow or of any, newest first.
SELECT state, tenant_id, partition, correlation, idempotency_key, actor, created_us, moved_us FROM execution
WHERE tenant_id = :tenant_id AND correlation = :correlation AND correlation <> '' AND ended_us IS NULL
  AND (CAST(:workflow AS TEXT) IS NULL OR workflow = :workflow) ORDER BY id DESC LIMIT :limit;

-- name: add_arrival
-- Insert an arrival for an execution, once.
INSERT INTO execution_arrival (execution_id, id, partition, kind, type, data, actor, occurred_at, arrived_us)
VALUES (:execution_id, :id, :partition, :kind, :type, :data, :actor, :occurred_at, :arrived_us)
ON CONFLICT (execution_id, id) DO NOTHING;

-- name: entries
-- A page of the log of a tenant's execution.
SELECT execution_id, number, tick, step, action, input_hash, output_hash, context, previous, hash, input, output
FROM execution_entry WHERE execution_id = :execution_id AND number > :after
  AND EXISTS (SELECT 1 FROM execution WHERE id = :execution_id AND tenant_id = :tenant_id)
ORDER BY number LIMIT :limit;

-- name: ticks
-- A page of a partition's ticks.
SELECT partition, sequence, tick, heads, previous, hash, epoch FROM workflow_tick
WHERE partition = :partition AND sequence > :after ORDER BY sequence LIMIT :limit;

-- name: ticks_of_execution
-- The ticks that name an execution, including those removed from its log. Reads every tick of the partition.
SELECT heads FROM workflow_tick WHERE partition = :partition AND heads LIKE :pattern ORDER BY sequence;

-- name: log_ids
-- Every execution of a partition with a log.
SELECT id FROM execution WHERE partition = :partition AND number > 0;

-- name: erase_entries
-- Erase the values of a log; its commitments remain.
UPDATE execution_entry SET input = NULL, output = NULL WHERE execution_id = :execution_id;

-- name: erase_arrivals
-- Erase the values that an execution received.
UPDATE execution_arrival SET data = '{}' WHERE execution_id = :execution_id;

-- name: erase_effects
-- Erase the values that an execution sent.
UPDATE execution_effect SET request = '{}' WHERE execution_id = :execution_id;

-- name: erase_state
-- Erase the values of a finished execution, and the salt that would allow guessing them.
UPDATE execution SET state = :state, correlation = '', error = '', salt = ''
WHERE tenant_id = :tenant_id AND id = :execution_id;

-- name: answer_effect
-- Close an effect, if the claim is still the sender's.
UPDATE execution_effect SET status = 'done' WHERE key = :key AND claim = :claim AND status = 'sending';

-- name: any_effect
-- Whether there are effects to send or in flight.
SELECT 1 FROM execution_effect WHERE status IN ('ready', 'sending') LIMIT 1;

-- name: add_trigger_position
-- Set the initial position of the trigger worker, if it is not set.
INSERT INTO trigger_position (id, cursor) VALUES (1, :cursor) ON CONFLICT (id) DO NOTHING;

-- name: trigger_position
-- The position of the trigger worker.
SELECT cursor FROM trigger_position WHERE id = 1;

-- name: move_trigger_position
-- Move the position of the trigger worker, if it is unchanged since it was read.
UPDATE trigger_position SET cursor = :after WHERE id = 1 AND cursor = :before;

-- name: published_stamp
-- The number of published and archived versions, and the time of the last change.
SELECT COUNT(*), COALESCE(MAX(created_us), 0), (SELECT COUNT(*) FROM archived_workflow),
    (SELECT COALESCE(MAX(archived_us), 0) FROM archived_workflow) FROM workflow_version;

-- name: triggered_workflows
-- The newest version of every workflow that has triggers and is not archived.
SELECT tenant_id, model, version, document, actor, created_us, archived_us FROM workflow_version AS one
LEFT JOIN archived_workflow USING (tenant_id, name)
WHERE model LIKE '%"triggers":[{%' AND archived_us IS NULL AND version = (
    SELECT MAX(version) FROM workflow_version WHERE tenant_id = one.tenant_id AND name = one.name);
