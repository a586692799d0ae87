-- name: analyses_due
-- Endpoints that are due for a model's look, and that nobody has leased; or this one, due or not.
-- What was never looked at is due by a run of its own, or of a sibling: that may be what it sleeps for.
WITH described AS (
    SELECT id, job_id FROM endpoint WHERE description <> '' AND archived_at IS NULL AND :only::text IS NULL
    UNION ALL SELECT endpoint.id, endpoint.job_id FROM job JOIN endpoint ON endpoint.job_id = job.id
    WHERE job.description <> '' AND endpoint.description = '' AND endpoint.archived_at IS NULL AND :only::text IS NULL
    UNION ALL SELECT id, job_id FROM endpoint WHERE id = :only AND archived_at IS NULL),
lively AS (
    SELECT job_id FROM (SELECT DISTINCT job_id FROM described
                        WHERE NOT EXISTS (SELECT 1 FROM analysis WHERE analysis.endpoint_id = described.id)) AS unseen
    WHERE EXISTS (SELECT 1 FROM endpoint AS member JOIN schedule ON schedule.id = member.id
                  WHERE member.job_id = unseen.job_id AND schedule.last_run_at >= :since))
SELECT described.id
FROM described JOIN schedule ON schedule.id = described.id JOIN job ON job.id = described.job_id
LEFT JOIN analysis AS seen ON seen.endpoint_id = described.id
WHERE job.status = 'active' AND (seen.lease_until IS NULL OR seen.lease_until <= :now)
  AND (:only::text IS NOT NULL OR
       (seen.endpoint_id IS NOT NULL OR described.job_id IN (SELECT job_id FROM lively))
       AND (seen.endpoint_id IS NULL OR seen.next_analysis_at <= :now OR schedule.failure_count > seen.failure_count
            OR (seen.failure_count > 0 AND schedule.failure_count = 0))
       AND (SELECT COUNT(*) FROM planner_session AS held
            WHERE held.endpoint_id = described.id AND held.id >= :hour) < :per_hour)
ORDER BY seen.next_analysis_at NULLS FIRST, described.id LIMIT :limit;

-- name: lease_analyses
-- Lease those of them that are still due. What another one has leased, or looked at meanwhile, is left out.
INSERT INTO analysis (endpoint_id, tenant_id, next_analysis_at, failure_count, lease_until, worker)
SELECT endpoint.id, endpoint.tenant_id, :now::timestamptz, schedule.failure_count, :lease_until::timestamptz, :worker::text
FROM unnest(:due::text[]) AS due (id) JOIN endpoint ON endpoint.id = due.id JOIN schedule ON schedule.id = endpoint.id
WHERE endpoint.archived_at IS NULL
ON CONFLICT (endpoint_id) DO UPDATE SET lease_until = excluded.lease_until, worker = excluded.worker
WHERE (analysis.lease_until IS NULL OR analysis.lease_until <= :now)
  AND ((:wanted::boolean) OR analysis.next_analysis_at <= :now OR excluded.failure_count > analysis.failure_count
       OR (analysis.failure_count > 0 AND excluded.failure_count = 0))
RETURNING endpoint_id;

-- name: add_planner_session
-- What a session found.
INSERT INTO planner_session ({{analysis_columns}}) VALUES ({{analysis_parameters}});

-- name: end_analysis
-- The lease is over; look again then.
UPDATE analysis SET lease_until = NULL, next_analysis_at = :next_analysis_at, failure_count = :failure_count
WHERE endpoint_id = :endpoint_id AND worker = :worker;

-- name: count_tokens
-- What a tenant spent this month.
INSERT INTO token_usage (tenant_id, month, tokens_in, tokens_out, cost_micros, sessions)
VALUES (:tenant_id, :month, :tokens_in, :tokens_out, :cost_micros, 1)
ON CONFLICT (tenant_id, month) DO UPDATE SET tokens_in = token_usage.tokens_in + excluded.tokens_in,
    tokens_out = token_usage.tokens_out + excluded.tokens_out,
    cost_micros = token_usage.cost_micros + excluded.cost_micros, sessions = token_usage.sessions + 1;

-- name: token_usage
-- What a tenant spent in a month.
SELECT month, tokens_in, tokens_out, cost_micros, sessions FROM token_usage
WHERE tenant_id = :tenant_id AND month = :month;

-- name: planner_sessions
-- A tenant's sessions, newest first, of one endpoint or of all.
SELECT {{analysis_columns}} FROM planner_session
WHERE tenant_id = :tenant_id AND (:endpoint_id::text IS NULL OR endpoint_id = :endpoint_id)
  AND (:before::text IS NULL OR id < :before)
ORDER BY id DESC LIMIT :limit;

-- name: planner_session
-- One session.
SELECT {{analysis_columns}} FROM planner_session WHERE tenant_id = :tenant_id AND id = :id;
