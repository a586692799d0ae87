-- name: analyses_due
-- Endpoints that are due for a model session and not leased; or one endpoint, due or not. Run this on the reader: in
-- the one write transaction it would delay the scheduler. CROSS JOIN: jobs first, because few of them have a
-- description. An endpoint that was never analysed becomes due by its run or that of a sibling, because it may wait
-- for the sibling.
WITH described AS (
    SELECT id, job_id FROM endpoint WHERE description <> '' AND archived_at IS NULL AND :only IS NULL
    UNION ALL SELECT endpoint.id, endpoint.job_id FROM job CROSS JOIN endpoint ON endpoint.job_id = job.id
    WHERE job.description <> '' AND endpoint.description = '' AND endpoint.archived_at IS NULL AND :only IS NULL
    UNION ALL SELECT id, job_id FROM endpoint WHERE id = :only AND archived_at IS NULL),
lively AS (
    SELECT job_id FROM (SELECT DISTINCT job_id FROM described
                        WHERE NOT EXISTS (SELECT 1 FROM analysis WHERE analysis.endpoint_id = described.id)) AS unseen
    WHERE EXISTS (SELECT 1 FROM endpoint AS member CROSS JOIN schedule ON schedule.id = member.id
                  WHERE member.job_id = unseen.job_id AND schedule.last_run_at >= :since))
SELECT described.id
FROM described JOIN schedule ON schedule.id = described.id JOIN job ON job.id = described.job_id
LEFT JOIN analysis AS seen ON seen.endpoint_id = described.id
WHERE job.status = 'active' AND (seen.lease_until IS NULL OR seen.lease_until <= :now)
  AND (:only IS NOT NULL OR
       (seen.endpoint_id IS NOT NULL OR described.job_id IN (SELECT job_id FROM lively))
       AND (seen.endpoint_id IS NULL OR seen.next_analysis_at <= :now OR schedule.failure_count > seen.failure_count
            OR (seen.failure_count > 0 AND schedule.failure_count = 0))
       AND (SELECT COUNT(*) FROM planner_session AS held
            WHERE held.endpoint_id = described.id AND held.id >= :hour) < :per_hour)
ORDER BY seen.next_analysis_at, described.id LIMIT :limit;

-- name: lease_analyses
-- Lease those of them that are still due. Endpoints leased or analysed meanwhile are left out.
INSERT INTO analysis (endpoint_id, tenant_id, next_analysis_at, failure_count, lease_until, worker)
SELECT endpoint.id, endpoint.tenant_id, :now, schedule.failure_count, :lease_until, :worker
FROM json_each(:due) AS due JOIN endpoint ON endpoint.id = due.value JOIN schedule ON schedule.id = endpoint.id
WHERE endpoint.archived_at IS NULL
ON CONFLICT (endpoint_id) DO UPDATE SET lease_until = excluded.lease_until, worker = excluded.worker
WHERE (analysis.lease_until IS NULL OR analysis.lease_until <= :now)
  AND (:wanted OR analysis.next_analysis_at <= :now OR excluded.failure_count > analysis.failure_count
       OR (analysis.failure_count > 0 AND excluded.failure_count = 0))
RETURNING endpoint_id;

-- name: planner_sessions
-- A tenant's sessions, newest first, of one endpoint or of all.
SELECT {{analysis_columns}} FROM planner_session
WHERE tenant_id = :tenant_id AND (:endpoint_id IS NULL OR endpoint_id = :endpoint_id)
  AND (:before IS NULL OR id < :before)
ORDER BY id DESC LIMIT :limit;
