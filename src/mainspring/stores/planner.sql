-- name: any_rule
-- Whether there is anything to judge.
SELECT 1 FROM rule LIMIT 1;

-- name: planner_cursor
-- Up to where finished runs have been judged.
SELECT cursor FROM planner_cursor WHERE name = :name;

-- name: move_planner_cursor
-- Judged up to here, if nobody else has moved it since it was read.
UPDATE planner_cursor SET cursor = :upto WHERE name = :name AND cursor = :read;

-- name: start_planner_cursor
-- Judge what comes from now on: there was no rule before.
INSERT INTO planner_cursor (name, cursor) VALUES (:name, :cursor)
ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor;

-- name: planner_modes
-- Where the planner is not live.
SELECT scope, mode FROM planner_mode WHERE mode <> 'live';

-- name: set_planner_mode
-- Live, ask, shadow or off, for everything, a tenant or an endpoint.
INSERT INTO planner_mode (scope, mode) VALUES (:scope, :mode)
ON CONFLICT (scope) DO UPDATE SET mode = excluded.mode;

-- name: add_rule
-- A new rule.
INSERT INTO rule (id, tenant_id, job_id, endpoint_id, position, name, document, created_at)
VALUES (:id, :tenant_id, :job_id, :endpoint_id, :position, :name, :document, :created_at);

-- name: put_rule
-- A rule as its owner wants it now.
UPDATE rule SET name = :name, document = :document WHERE id = :id AND tenant_id = :tenant_id;

-- name: recount_rule
-- What an edited rule has counted does not count any more; when it fired does, for its cooldown.
UPDATE rule_state SET streak = 0, fault = '', refused = '' WHERE rule_id = :rule_id;

-- name: members_of_jobs
-- The endpoints of the jobs that some endpoints belong to.
SELECT endpoint.id, endpoint.tenant_id, job_id, name, paused_until, failure_count, advice,
       cron, interval_ms, hint_interval_ms, hint_interval_expires_at
FROM endpoint JOIN schedule ON schedule.id = endpoint.id
WHERE archived_at IS NULL
  AND job_id IN (SELECT job_id FROM endpoint WHERE id {{in_ids}})
ORDER BY endpoint.id;

-- name: rules_of_jobs
-- The rules of jobs and of their endpoints, in the order in which they were written.
SELECT rule.id, rule.tenant_id, COALESCE(rule.job_id, endpoint.job_id), rule.endpoint_id, rule.document, rule.created_at
FROM rule LEFT JOIN endpoint ON endpoint.id = rule.endpoint_id
WHERE COALESCE(rule.job_id, endpoint.job_id) {{in_ids}}
ORDER BY rule.created_at, rule.position, rule.id;

-- name: rules_of_tenant
-- A tenant's rules with their owners' names, of one job or of all.
SELECT rule.id, rule.tenant_id, COALESCE(rule.job_id, endpoint.job_id), rule.endpoint_id, rule.document,
       rule.created_at, COALESCE(endpoint.name, '')
FROM rule LEFT JOIN endpoint ON endpoint.id = rule.endpoint_id
WHERE rule.tenant_id = :tenant_id AND (CAST(:job_id AS text) IS NULL OR COALESCE(rule.job_id, endpoint.job_id) = :job_id)
ORDER BY rule.created_at, rule.position, rule.id;

-- name: states_of_rules
-- What rules remember.
SELECT rule_id, endpoint_id, streak, fired_at, fault, refused FROM rule_state
WHERE rule_id {{in_ids}} ORDER BY rule_id, endpoint_id;

-- name: window_results
-- An endpoint's runs that finished within a span, with the size of their bodies: what is read is chosen by that.
SELECT id, endpoint_id, status, status_code, finished_at, duration_ms, COALESCE(octet_length(body), 0) FROM run
WHERE endpoint_id = :endpoint_id AND id >= :first AND id < :before AND finished_at > :since AND finished_at <= :until
  AND status IN ('success', 'failure', 'timeout', 'blocked') AND trigger <> 'test'
ORDER BY id DESC LIMIT :limit;

-- name: bodies_of_runs
-- The bodies of some runs.
SELECT id, body FROM run WHERE id {{in_ids}};

-- name: health
-- How an endpoint's runs ended that finished in the hour, the four hours and the day before an instant.
SELECT COUNT(*) FILTER (WHERE finished_at >= :hour), COUNT(*) FILTER (WHERE finished_at >= :hour AND status = 'success'),
       CAST(AVG(duration_ms) FILTER (WHERE finished_at >= :hour) AS double precision),
       COUNT(*) FILTER (WHERE finished_at >= :four_hours), COUNT(*) FILTER (WHERE finished_at >= :four_hours AND status = 'success'),
       CAST(AVG(duration_ms) FILTER (WHERE finished_at >= :four_hours) AS double precision),
       COUNT(*), COUNT(*) FILTER (WHERE status = 'success'), CAST(AVG(duration_ms) AS double precision) FROM run
WHERE endpoint_id = :endpoint_id AND id >= :first AND id < :before AND finished_at >= :day AND finished_at <= :until
  AND status IN ('success', 'failure', 'timeout', 'blocked') AND trigger <> 'test';

-- name: remove_rules
-- Rules that are not wanted any more.
DELETE FROM rule WHERE tenant_id = :tenant_id AND id {{in_ids}};
