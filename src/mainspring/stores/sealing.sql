-- name: sealed_endpoint
-- Endpoints with a secret header or a sealed query string.
SELECT id, tenant_id, action, 0 FROM endpoint
WHERE id > :after AND (action LIKE '%"secret":true%' OR action LIKE '%"query":"v%') ORDER BY id LIMIT :limit;

-- name: readable_queries
-- Endpoints whose query string may be readable; a `?` in the body counts here too. Read once, when a process starts: an
-- index would have PostgreSQL look through the action with every claim.
SELECT id, tenant_id, action, 0 FROM endpoint
WHERE id > :after AND action LIKE '%?%' AND action NOT LIKE '%"query":"v%' ORDER BY id LIMIT :limit;

-- name: sealed_signing_key
-- Signing keys of all tenants.
SELECT id, tenant_id, sealed, 0 FROM signing_key WHERE id > :after ORDER BY id LIMIT :limit;

-- name: sealed_subscription
-- Webhooks and alerts of all tenants.
SELECT id, tenant_id, config, 0 FROM subscription WHERE id > :after ORDER BY id LIMIT :limit;

-- name: sealed_second_factor
-- Second factors of all users.
SELECT account_id, '', sealed, 0 FROM second_factor WHERE account_id > :after AND sealed <> '' ORDER BY account_id LIMIT :limit;

-- name: sealed_answer
-- Requests and the answers kept for them. Who is at work will look for the request as it wrote it.
SELECT tenant_id, actor, key, tenant_id, request || CAST(:between AS text) || COALESCE(answer, ''),
       CASE WHEN answer IS NULL AND claimed_until > :now THEN 1 ELSE 0 END
FROM answer WHERE (tenant_id, actor, key) > (:after_tenant, :after_actor, :after_key)
ORDER BY tenant_id, actor, key LIMIT :limit;

-- name: reseal_endpoint
-- The same headers under another key, where nobody has edited the endpoint meanwhile.
UPDATE endpoint SET action = :fresh WHERE id = :id AND action = :read;

-- name: touch_schedule
-- A new revision, so that a process with the endpoint in its cache reads it again.
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
UPDATE answer SET request = :fresh_request, answer = NULLIF(CAST(:fresh_answer AS text), '')
WHERE tenant_id = :tenant_id AND actor = :actor AND key = :key
  AND request = :request AND COALESCE(answer, '') = :answer;

-- name: sealed_connection
-- Connections of all tenants.
SELECT id, tenant_id, config, 0 FROM connection WHERE id > :after ORDER BY id LIMIT :limit;

-- name: reseal_connection
-- The same connection under another key, where nobody has edited it meanwhile.
UPDATE connection SET config = :fresh WHERE id = :id AND config = :read;

-- name: sealed_connection_token
-- Tokens of connections of all tenants.
SELECT connection_id, tenant_id, sealed, 0 FROM connection_token WHERE connection_id > :after
ORDER BY connection_id LIMIT :limit;

-- name: reseal_connection_token
-- The same token under another key.
UPDATE connection_token SET sealed = :fresh WHERE connection_id = :id AND sealed = :read;
