-- name: calls_by_key
-- Calls that have one of these keys.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND call_key IS NOT NULL AND call_key {{in_ids}};

-- name: call
-- A call by its id or its key; an id wins over an equal key of another call.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND call_key IS NOT NULL AND (id = :key OR call_key = :key)
ORDER BY id <> :key;

-- name: count_calls
-- The number of stored calls of a tenant.
SELECT COUNT(*) FROM endpoint WHERE tenant_id = :tenant_id AND call_key IS NOT NULL;

-- name: look_calls
-- A page of calls, newest first.
SELECT {{endpoint_columns}} FROM endpoint JOIN schedule USING (id)
WHERE endpoint.tenant_id = :tenant_id AND call_key IS NOT NULL AND id < :before
  AND (CAST(:state AS text) IS NULL OR :state = CASE WHEN archived_at IS NOT NULL THEN 'cancelled'
       WHEN {{is_done}} THEN 'done' ELSE 'waiting' END)
ORDER BY id DESC LIMIT :limit;
