-- name: reseal_endpoints
-- The same headers under another key, where nobody has edited the endpoint meanwhile; whoever knows it from before reads
-- it again.
WITH resealed AS (
    UPDATE endpoint SET action = new.fresh
    FROM unnest(:ids::text[], :read::text[], :fresh::text[]) AS new (id, read, fresh)
    WHERE endpoint.id = new.id AND endpoint.action = new.read
    RETURNING endpoint.id
)
UPDATE schedule SET revision = revision + 1 FROM resealed WHERE schedule.id = resealed.id
RETURNING schedule.id;

-- name: reseal_signing_keys
-- The same signing keys under another key.
UPDATE signing_key SET sealed = new.fresh
FROM unnest(:ids::text[], :read::text[], :fresh::text[]) AS new (id, read, fresh)
WHERE signing_key.id = new.id AND signing_key.sealed = new.read
RETURNING signing_key.id;

-- name: reseal_subscriptions
-- The same webhooks and alerts under another key, where nobody has edited them meanwhile.
UPDATE subscription SET config = new.fresh
FROM unnest(:ids::text[], :read::text[], :fresh::text[]) AS new (id, read, fresh)
WHERE subscription.id = new.id AND subscription.config = new.read
RETURNING subscription.id;

-- name: reseal_second_factors
-- The same second factors under another key.
UPDATE second_factor SET sealed = new.fresh
FROM unnest(:ids::text[], :read::text[], :fresh::text[]) AS new (id, read, fresh)
WHERE second_factor.account_id = new.id AND second_factor.sealed = new.read
RETURNING second_factor.account_id;

-- name: reseal_answers
-- The same requests and answers under another key, where neither was written meanwhile.
UPDATE answer SET request = new.fresh_request, answer = NULLIF(new.fresh_answer, '')
FROM unnest(:tenant_ids::text[], :actors::text[], :keys::text[], :requests::text[], :answers::text[],
            :fresh_requests::text[], :fresh_answers::text[])
    AS new (tenant_id, actor, key, request, answer, fresh_request, fresh_answer)
WHERE answer.tenant_id = new.tenant_id AND answer.actor = new.actor AND answer.key = new.key
  AND answer.request = new.request AND COALESCE(answer.answer, '') = new.answer
RETURNING answer.tenant_id, answer.actor, answer.key;
