-- name: reseal_endpoint
-- The same headers under another key, where nobody has edited the endpoint meanwhile.
UPDATE endpoint SET action = :fresh WHERE id = :id AND action = :read;

-- name: touch_schedule
-- Whoever knows the endpoint from before reads it again.
UPDATE schedule SET revision = revision + 1 WHERE id = :id;

-- name: reseal_signing_key
-- The same signing key under another key.
UPDATE signing_key SET sealed = :fresh WHERE id = :id AND sealed = :read;

-- name: reseal_subscription
-- The same webhook or alert under another key, where nobody has edited it meanwhile.
UPDATE subscription SET config = :fresh WHERE id = :id AND config = :read;

-- name: reseal_second_factor
-- The same second factor under another key.
UPDATE second_factor SET sealed = :fresh WHERE account_id = :id AND sealed = :read;

-- name: reseal_answer
-- The same request and answer under another key, where neither was written meanwhile.
UPDATE answer SET request = :fresh_request, answer = NULLIF(:fresh_answer, '')
WHERE tenant_id = :tenant_id AND actor = :actor AND key = :key
  AND request = :request AND COALESCE(answer, '') = :answer;
