-- name: any_rule
-- Whether there are runs to judge.
SELECT 1 FROM rule LIMIT 1;

-- name: planner_cursor
-- The position up to which finished runs have been judged.
SELECT cursor FROM planner_cursor WHERE name = :name;

-- name: move_planner_cursor
-- Move the position, if it is unchanged since it was read.
UPDATE planner_cursor SET cursor = :upto WHERE name = :name AND cursor = :read;

-- name: start_planner_cursor
-- Start judging at the present position, because there was no rule before.
INSERT INTO planner_cursor (name, cursor) VALUES (:name, :cursor)
ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor;

-- name: planner_modes
-- The scopes in which the planner is not live.
SELECT scope, mode FROM planner_mode WHERE mode <> 'live';

-- name: set_planner_mode
-- Set the mode (live, ask, shadow, off) of everything, a tenant or an endpoint.
INSERT INTO planner_mode (scope, mode) VALUES (:scope, :mode)
ON CONFLICT (scope) DO UPDATE SET mode = excluded.mode;

-- name: add_rule
-- Insert a rule.
INSERT INTO rule (id, tenant_id, job_id, endpoint_id, position, name, document, reads_others, created_at)
VALUES (:id, :tenant_id, :job_id, :endpoint_id, :position, :name, :document, :reads_others, :created_at);

-- name: put_rule
-- Update a rule.
UPDATE rule SET name = :name, document = :document, reads_others = :reads_others WHERE id = :id AND tenant_id = :tenant_id;

-- name: recount_rule
-- Reset the counts of an edited rule. The time it last fired stays, for its cooldown.
UPDATE rule_state SET streak = 0, fault = '', refused = '' WHERE rule_id = :rule_id;

-- name: job_members
-- Endpoints as the rules of their jobs read them.
SELECT endpoint.id, endpoint.tenant_id, job_id, name, paused_until, failure_count, advice,
       cron, interval_ms, hint_interval_ms, hint_interval_expires_at
FROM endpoint JOIN schedule ON schedule.id = endpoint.id
WHERE archived_at IS NULL AND endpoint.id {{in_ids}};

-- name: ids_of_jobs
-- The endpoints of jobs.
SELECT id FROM endpoint WHERE job_id {{in_ids}} AND archived_at IS NULL;

-- name: ids_of_names
-- The endpoints of jobs that have one of these names.
SELECT id FROM endpoint WHERE job_id {{in_ids}} AND name {{in_names}} AND archived_at IS NULL;

-- name: rules_of_runs
-- The rules that runs of endpoints may concern, in the order of creation: those of the endpoints, those of their jobs,
-- and those of other endpoints of the jobs that read more than their own runs.
SELECT rule.id, rule.tenant_id, COALESCE(rule.job_id, endpoint.job_id), rule.endpoint_id, rule.document, rule.created_at
FROM rule LEFT JOIN endpoint ON endpoint.id = rule.endpoint_id
WHERE rule.id IN (
    SELECT id FROM rule WHERE endpoint_id {{in_ids}}
    UNION ALL SELECT id FROM rule WHERE job_id {{in_jobs}}
    UNION ALL SELECT other.id FROM rule AS other JOIN endpoint AS owner ON owner.id = other.endpoint_id
              WHERE other.reads_others AND other.tenant_id {{in_tenants}} AND owner.job_id {{in_jobs}})
ORDER BY rule.created_at, rule.position, rule.id;

-- name: rules_of_tenant
-- A tenant's rules with their owners' names, of one endpoint, of one job, or all.
SELECT rule.id, rule.tenant_id, COALESCE(rule.job_id, endpoint.job_id), rule.endpoint_id, rule.document,
       rule.created_at, COALESCE(endpoint.name, '')
FROM rule LEFT JOIN endpoint ON endpoint.id = rule.endpoint_id
WHERE rule.tenant_id = :tenant_id AND (CAST(:job_id AS text) IS NULL OR COALESCE(rule.job_id, endpoint.job_id) = :job_id)
  AND (CAST(:endpoint_id AS text) IS NULL OR rule.endpoint_id = :endpoint_id)
ORDER BY rule.created_at, rule.position, rule.id;

-- name: states_of_rules
-- What rules remember.
SELECT rule_id, endpoint_id, streak, fired_at, fault, refused FROM rule_state
WHERE rule_id {{in_ids}} ORDER BY rule_id, endpoint_id;

-- name: states_of_members
-- What rules remember about some endpoints.
SELECT rule_id, endpoint_id, streak, fired_at, fault, refused FROM rule_state
WHERE rule_id {{in_ids}} AND endpoint_id {{in_members}} ORDER BY rule_id, endpoint_id;

-- name: window_results
-- An endpoint's runs that finished within a span, with the sizes of their bodies, by which the caller chooses.
SELECT id, endpoint_id, status, status_code, finished_at, duration_ms, COALESCE(octet_length(body), 0) FROM run
WHERE endpoint_id = :endpoint_id AND id >= :first AND id < :before AND finished_at > :since AND finished_at <= :until
  AND {{has_result}} AND trigger <> 'test'
ORDER BY id DESC LIMIT :limit;

-- name: bodies_of_runs
-- The bodies of some runs.
SELECT id, body FROM run WHERE id {{in_ids}};

-- name: health
-- The results of an endpoint's runs that finished in the hour, the four hours and the day before a time.
SELECT COUNT(*) FILTER (WHERE finished_at >= :hour), COUNT(*) FILTER (WHERE finished_at >= :hour AND status = 'success'),
       CAST(AVG(duration_ms) FILTER (WHERE finished_at >= :hour) AS double precision),
       COUNT(*) FILTER (WHERE finished_at >= :four_hours), COUNT(*) FILTER (WHERE finished_at >= :four_hours AND status = 'success'),
       CAST(AVG(duration_ms) FILTER (WHERE finished_at >= :four_hours) AS double precision),
       COUNT(*), COUNT(*) FILTER (WHERE status = 'success'), CAST(AVG(duration_ms) AS double precision) FROM run
WHERE endpoint_id = :endpoint_id AND id >= :first AND id < :before AND finished_at >= :day AND finished_at <= :until
  AND {{has_result}} AND trigger <> 'test';

-- name: remove_rules
-- Delete rules.
DELETE FROM rule WHERE tenant_id = :tenant_id AND id {{in_ids}};
