-- name: end_reported_run
-- Record the result of a run that a callback ended, also if its worker was lost before it recorded the response.
UPDATE run SET status = :status, finished_at = :finished_at, duration_ms = :duration_ms, status_code = :status_code,
    error_code = :error_code, error = :error
WHERE tenant_id = :tenant_id AND id = :id AND status IN ('running', 'abandoned');

-- name: close_reported_run
-- Record the end of an earlier attempt at the slot, whose callback ended the present attempt.
UPDATE run SET status = :status, error = :error, finished_at = :finished_at
WHERE tenant_id = :tenant_id AND id = :id AND status IN ('running', 'abandoned');
