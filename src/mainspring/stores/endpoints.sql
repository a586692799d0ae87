-- name: tenants_by_id
-- Tenants with their usage of this month and their signing keys, newest first; `between` separates two keys.
SELECT id, name, runs_per_month, tokens_per_month, endpoints_max, interval_ms_min,
    (SELECT CAST(COALESCE(SUM(runs), 0) AS bigint) FROM usage WHERE usage.tenant_id = tenant.id AND month = :month),
    COALESCE((SELECT string_agg(sealed, CAST(:between AS text) ORDER BY created_at DESC, signing_key.id DESC)
              FROM signing_key WHERE signing_key.tenant_id = tenant.id), '')
FROM tenant WHERE id {{in_ids}} ORDER BY id;

-- name: count_endpoints
-- The number of endpoints that count towards a tenant's quota; not counted for a tenant without a quota.
SELECT CASE WHEN endpoints_max IS NULL THEN 0 ELSE
    (SELECT COUNT(*) FROM endpoint WHERE tenant_id = tenant.id AND archived_at IS NULL AND call_key IS NULL) END
FROM tenant WHERE id = :tenant_id;

-- name: add_endpoint
-- Insert an endpoint's configuration.
INSERT INTO endpoint ({{config_columns}}) VALUES ({{config_parameters}});

-- name: add_schedule
-- Insert an endpoint's state.
INSERT INTO schedule (id, tenant_id, host, {{state_columns}}) VALUES (:id, :tenant_id, :host, {{state_parameters}});

-- name: endpoint
-- One endpoint by id, or by name among those not archived; an id wins over an equal name of another endpoint.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND (id = :name OR (name = :name AND archived_at IS NULL AND call_key IS NULL))
ORDER BY id <> :name;

-- name: delete_endpoint
-- Delete an endpoint.
DELETE FROM endpoint WHERE tenant_id = :tenant_id AND id = :id;

-- name: delete_runs
-- Delete an endpoint's runs.
DELETE FROM run WHERE endpoint_id = :endpoint_id;

-- name: write_config
-- Update an endpoint's configuration.
UPDATE endpoint SET {{config_assignments}} WHERE id = :id;

-- name: write_host
-- Update the host that an endpoint calls, for the limit per host.
UPDATE schedule SET host = :host WHERE id = :id;

-- name: add_job
-- Insert a job.
INSERT INTO job ({{job_columns}}) VALUES ({{job_parameters}});

-- name: jobs
-- A tenant's jobs by name.
SELECT {{job_columns}} FROM job WHERE tenant_id = :tenant_id ORDER BY name;

-- name: put_job
-- Update a job's name, description, status and source.
UPDATE job SET name = :name, description = :description, status = :status, updated_at = :updated_at,
    managed_by = :managed_by
WHERE tenant_id = :tenant_id AND id = :id;

-- name: put_tenant
-- Insert or update a tenant.
INSERT INTO tenant (id, name, runs_per_month, tokens_per_month, endpoints_max, interval_ms_min)
VALUES (:id, :name, :runs_per_month, :tokens_per_month, :endpoints_max, :interval_ms_min)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, runs_per_month = excluded.runs_per_month,
    tokens_per_month = excluded.tokens_per_month, endpoints_max = excluded.endpoints_max,
    interval_ms_min = excluded.interval_ms_min;

-- name: endpoints_by_id
-- Complete endpoints.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id) WHERE id {{in_ids}};

-- name: free_names
-- Clear the names that a document moves between endpoints, so that they can be assigned in any order.
UPDATE endpoint SET name = id WHERE id {{in_ids}};

-- name: undefer
-- Make endpoints due again, by their own plan, that waited for a quota that has changed. An endpoint without a plan,
-- because its job is paused, gets no next run and stops waiting.
UPDATE schedule SET deferred_until = NULL, revision = revision + 1,
    next_run_at = CASE WHEN next_run_at IS NULL THEN next_run_at ELSE :now END
WHERE tenant_id = :tenant_id AND deferred_until IS NOT NULL;
