-- name: claim_answer
-- Begin a request under a key that is new, or whose first request was lost.
INSERT INTO answer (tenant_id, actor, key, request, claimed_until, expires_at)
VALUES (:tenant_id, :actor, :key, :request, :claimed_until, :expires_at)
ON CONFLICT (tenant_id, actor, key) DO UPDATE SET request = excluded.request, claimed_until = excluded.claimed_until,
    expires_at = excluded.expires_at
WHERE answer.answer IS NULL AND answer.claimed_until <= :now;

-- name: read_answer
-- The request of a key, and its response, if it exists.
SELECT request, answer FROM answer WHERE tenant_id = :tenant_id AND actor = :actor AND key = :key;

-- name: keep_answer
-- Store the response to the request that holds the key.
UPDATE answer SET answer = :answer
WHERE tenant_id = :tenant_id AND actor = :actor AND key = :key AND request = :request AND answer IS NULL;

-- name: release_answer
-- Release the key of a refused request.
DELETE FROM answer
WHERE tenant_id = :tenant_id AND actor = :actor AND key = :key AND request = :request AND answer IS NULL;
