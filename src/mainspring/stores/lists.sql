-- Lists and overviews, and the number of items of a list.
-- Endpoints have no index by next run: a page in that order sorts all matching ones, 10,000 in about 20 ms.

-- name: look_endpoints
-- A page of the endpoints that are not archived, by name, which is unique among them.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND archived_at IS NULL AND call_key IS NULL
  AND {{in_state}}
  AND {{has_text}}
  AND name > :after_name
ORDER BY name LIMIT :limit;

-- name: look_archived_endpoints
-- A page of the archived endpoints.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND archived_at IS NOT NULL AND call_key IS NULL
  AND (CAST(:job_id AS text) IS NULL OR job_id = :job_id)
  AND {{has_text}}
  AND (name, id) > (:after_name, :after_id)
ORDER BY name, id LIMIT :limit;

-- name: look_runs
-- A tenant's runs with the names of their endpoints, newest first, between two ids.
SELECT {{run_summary}}, COALESCE(endpoint.name, run.endpoint_id)
FROM run LEFT JOIN endpoint ON endpoint.id = run.endpoint_id
WHERE run.tenant_id = :tenant_id AND run.id < :before AND run.id >= :from
  AND {{ended_so}}
  AND (CAST(:trigger AS text) IS NULL OR trigger = :trigger)
ORDER BY run.id DESC LIMIT :limit;

-- name: look_runs_of_endpoint
-- The same for one endpoint.
SELECT {{run_summary}}, COALESCE(endpoint.name, run.endpoint_id)
FROM run LEFT JOIN endpoint ON endpoint.id = run.endpoint_id
WHERE run.tenant_id = :tenant_id AND run.endpoint_id = :endpoint_id AND run.id < :before AND run.id >= :from
  AND {{ended_so}}
  AND (CAST(:trigger AS text) IS NULL OR trigger = :trigger)
ORDER BY run.id DESC LIMIT :limit;

-- name: run_so_far_back
-- The run after this number of newer ones: how far a filter searches at once. Reads the index only.
SELECT id FROM run WHERE tenant_id = :tenant_id AND id < :before ORDER BY id DESC LIMIT 1 OFFSET :most;

-- name: results
-- The results of the runs of an endpoint, newest first, without those in a maintenance window.
SELECT started_at, status, duration_ms FROM run
WHERE tenant_id = :tenant_id AND endpoint_id = :endpoint_id AND id >= :from AND trigger <> 'test' AND maintenance = ''
  AND {{has_result}}
ORDER BY id DESC LIMIT :limit;

-- name: count_states
-- The number of endpoints in each state, and how many of them failed last, are running, and are late.
SELECT {{state}} AS state, COUNT(*), COUNT(*) FILTER (WHERE failure_count > 0),
       COUNT(*) FILTER (WHERE {{in_hand}}),
       COUNT(*) FILTER (WHERE claimable_at <= :late_before AND lease_until IS NULL)
FROM endpoint JOIN schedule USING (id) WHERE endpoint.tenant_id = :tenant_id AND call_key IS NULL GROUP BY 1;

-- name: upcoming_endpoints
-- Endpoints that wait for their next run, soonest first.
SELECT {{endpoint_columns}} FROM schedule JOIN endpoint USING (id)
WHERE schedule.tenant_id = :tenant_id AND claimable_at IS NOT NULL AND claimable_at < :forever AND NOT {{in_hand}}
ORDER BY claimable_at LIMIT :limit;

-- name: endpoint_names
-- Names by id.
SELECT id, name FROM endpoint WHERE tenant_id = :tenant_id AND id {{in_ids}};

-- name: look_endpoints_backwards
-- A page of endpoints by name, last name first.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND (archived_at IS NULL OR :state = 'archived') AND call_key IS NULL
  AND (CAST(:job_id AS text) IS NULL OR job_id = :job_id)
  AND {{in_state}}
  AND {{has_text}}
  AND (CAST(:after_name AS text) IS NULL OR (name, id) < (:after_name, :after_id))
ORDER BY name DESC, id DESC LIMIT :limit;

-- name: look_endpoints_by_next_run
-- The same by next run, soonest first; endpoints without a next run are last.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND (archived_at IS NULL OR :state = 'archived') AND call_key IS NULL
  AND (CAST(:job_id AS text) IS NULL OR job_id = :job_id)
  AND {{in_state}}
  AND {{has_text}}
  AND (COALESCE(next_run_at, :forever), id) > (:after_at, :after_id)
ORDER BY COALESCE(next_run_at, :forever), id LIMIT :limit;

-- name: look_endpoints_by_next_run_backwards
-- The same by next run, latest first; endpoints without a next run are first.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND (archived_at IS NULL OR :state = 'archived') AND call_key IS NULL
  AND (CAST(:job_id AS text) IS NULL OR job_id = :job_id)
  AND {{in_state}}
  AND {{has_text}}
  AND (COALESCE(next_run_at, :forever), id) < (:after_at, :after_id)
ORDER BY COALESCE(next_run_at, :forever) DESC, id DESC LIMIT :limit;

-- name: look_runs_forwards
-- A tenant's runs with the names of their endpoints, oldest first, between two ids.
SELECT {{run_summary}}, COALESCE(endpoint.name, run.endpoint_id)
FROM run LEFT JOIN endpoint ON endpoint.id = run.endpoint_id
WHERE run.tenant_id = :tenant_id AND run.id > :after AND run.id < :before
  AND {{ended_so}}
  AND (CAST(:trigger AS text) IS NULL OR trigger = :trigger)
ORDER BY run.id LIMIT :limit;

-- name: look_runs_of_endpoint_forwards
-- The same for one endpoint.
SELECT {{run_summary}}, COALESCE(endpoint.name, run.endpoint_id)
FROM run LEFT JOIN endpoint ON endpoint.id = run.endpoint_id
WHERE run.tenant_id = :tenant_id AND run.endpoint_id = :endpoint_id AND run.id > :after AND run.id < :before
  AND {{ended_so}}
  AND (CAST(:trigger AS text) IS NULL OR trigger = :trigger)
ORDER BY run.id LIMIT :limit;

-- name: run_so_far_ahead
-- The run after this number of older ones: how far a filter searches at once. Reads the index only.
SELECT id FROM run WHERE tenant_id = :tenant_id AND id > :after ORDER BY id LIMIT 1 OFFSET :most;

-- name: total_endpoints
-- The number of matching endpoints, counted up to a bound.
SELECT COUNT(*) FROM (
  SELECT id FROM endpoint JOIN schedule USING (id)
  WHERE endpoint.tenant_id = :tenant_id AND (archived_at IS NULL OR :state = 'archived') AND call_key IS NULL
    AND (CAST(:job_id AS text) IS NULL OR job_id = :job_id)
    AND {{in_state}}
    AND {{has_text}}
  LIMIT :most) AS found;

-- name: total_runs
-- The number of the newest runs between two ids, and how many of them match.
SELECT COUNT(*), COUNT(*) FILTER (WHERE {{ended_so}} AND (CAST(:trigger AS text) IS NULL OR trigger = :trigger))
FROM (
  SELECT status, trigger FROM run WHERE tenant_id = :tenant_id AND id < :before AND id >= :from
  ORDER BY id DESC LIMIT :most) AS newest;

-- name: total_runs_of_endpoint
-- The same for one endpoint.
SELECT COUNT(*), COUNT(*) FILTER (WHERE {{ended_so}} AND (CAST(:trigger AS text) IS NULL OR trigger = :trigger))
FROM (
  SELECT status, trigger FROM run
  WHERE tenant_id = :tenant_id AND endpoint_id = :endpoint_id AND id < :before AND id >= :from
  ORDER BY id DESC LIMIT :most) AS newest;

-- name: total_executions
-- The number of the newest executions, and how many of them match.
SELECT COUNT(*), COUNT(*) FILTER (WHERE (CAST(:workflow AS text) IS NULL OR workflow = :workflow)
    AND (CAST(:status AS text) IS NULL OR status = :status)
    AND (CAST(:correlation AS text) IS NULL OR correlation = :correlation)
    AND (CAST(:version AS bigint) IS NULL OR version = :version)
    AND (CAST(:step AS text) IS NULL OR step = :step)
    AND (:in_need = 0 OR status IN ('failed', 'paused')))
FROM (
  SELECT workflow, status, correlation, version, step FROM execution WHERE tenant_id = :tenant_id
  ORDER BY id DESC LIMIT :most) AS newest;

-- name: executions_forwards
-- A tenant's executions, oldest first.
SELECT state, tenant_id, partition, correlation, idempotency_key, actor, created_us, moved_us FROM execution
WHERE tenant_id = :tenant_id AND (CAST(:workflow AS text) IS NULL OR workflow = :workflow)
  AND (CAST(:status AS text) IS NULL OR status = :status)
  AND (CAST(:correlation AS text) IS NULL OR correlation = :correlation)
  AND (CAST(:after AS text) IS NULL OR id > :after)
  AND (CAST(:version AS bigint) IS NULL OR version = :version)
  AND (CAST(:step AS text) IS NULL OR step = :step)
  AND (CAST(:key AS text) IS NULL OR idempotency_key = :key)
ORDER BY id LIMIT :limit;

-- name: total_deliveries
-- The number of matching deliveries, counted up to a bound.
SELECT COUNT(*) FROM (
  SELECT id FROM delivery
  WHERE tenant_id = :tenant_id AND (CAST(:subscription_id AS text) IS NULL OR subscription_id = :subscription_id)
    AND (CAST(:status AS text) IS NULL OR status = :status)
  LIMIT :most) AS found;
