-- name: sealed_endpoint
-- Endpoints with a secret header or an encrypted query string.
SELECT id, tenant_id, action, 0 FROM endpoint
WHERE id > :after AND (action LIKE '%"secret":true%' OR action LIKE '%"query":"v%') ORDER BY id LIMIT :limit;

-- name: readable_queries
-- Endpoints whose query string may be in plain text; a `?` in the body matches too. Read once per process start: with
-- an index, PostgreSQL would read the action at every claim.
SELECT id, tenant_id, action, 0 FROM endpoint
WHERE id > :after AND action LIKE '%?%' AND action NOT LIKE '%"query":"v%' ORDER BY id LIMIT :limit;

-- name: sealed_signing_key
-- The signing keys of all tenants.
SELECT id, tenant_id, sealed, 0 FROM signing_key WHERE id > :after ORDER BY id LIMIT :limit;

-- name: sealed_subscription
-- The webhooks and alerts of all tenants.
SELECT id, tenant_id, config, 0 FROM subscription WHERE id > :after ORDER BY id LIMIT :limit;

-- name: sealed_second_factor
-- The second factors of all users.
SELECT account_id, '', sealed, 0 FROM second_factor WHERE account_id > :after AND sealed <> '' ORDER BY account_id LIMIT :limit;

-- name: sealed_answer
-- Idempotent requests and their stored responses. The last column marks requests in progress, which must not change.
SELECT tenant_id, actor, key, tenant_id, request || CAST(:between AS text) || COALESCE(answer, ''),
       CASE WHEN answer IS NULL AND claimed_until > :now THEN 1 ELSE 0 END
FROM answer WHERE (tenant_id, actor, key) > (:after_tenant, :after_actor, :after_key)
ORDER BY tenant_id, actor, key LIMIT :limit;

-- name: reseal_endpoint
-- Store headers encrypted with another key, if the endpoint was not edited meanwhile.
UPDATE endpoint SET action = :fresh WHERE id = :id AND action = :read;

-- name: touch_schedule
-- Raise the revision, so that processes with the endpoint in their cache read it again.
UPDATE schedule SET revision = revision + 1 WHERE id = :id;

-- name: reseal_signing_key
-- Store a signing key encrypted with another key.
UPDATE signing_key SET sealed = :fresh WHERE id = :id AND sealed = :read;

-- name: reseal_subscription
-- Store a webhook or alert encrypted with another key, if it was not edited meanwhile.
UPDATE subscription SET config = :fresh WHERE id = :id AND config = :read;

-- name: reseal_second_factor
-- Store a second factor encrypted with another key.
UPDATE second_factor SET sealed = :fresh WHERE account_id = :id AND sealed = :read;

-- name: reseal_answer
-- Store a request and its response encrypted with another key, if neither was written meanwhile.
UPDATE answer SET request = :fresh_request, answer = NULLIF(CAST(:fresh_answer AS text), '')
WHERE tenant_id = :tenant_id AND actor = :actor AND key = :key
  AND request = :request AND COALESCE(answer, '') = :answer;

-- name: sealed_connection
-- The connections of all tenants.
SELECT id, tenant_id, config, 0 FROM connection WHERE id > :after ORDER BY id LIMIT :limit;

-- name: reseal_connection
-- Store a connection encrypted with another key, if it was not edited meanwhile.
UPDATE connection SET config = :fresh WHERE id = :id AND config = :read;

-- name: sealed_connection_token
-- The access tokens of connections of all tenants.
SELECT connection_id, tenant_id, sealed, 0 FROM connection_token WHERE connection_id > :after
ORDER BY connection_id LIMIT :limit;

-- name: reseal_connection_token
-- Store an access token encrypted with another key.
UPDATE connection_token SET sealed = :fresh WHERE connection_id = :id AND sealed = :read;
