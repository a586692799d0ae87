-- Subscriptions, deliveries and alerts.

-- name: subscriptions
-- Webhooks and alerts by name, of one tenant or of all, of one kind or of both.
SELECT id, tenant_id, kind, name, config, enabled, version, created_at, updated_at, active_since,
       failing_since, failure_count, disabled_reason, managed_by FROM subscription
WHERE (:tenant_id::text IS NULL OR tenant_id = :tenant_id) AND (:kind::text IS NULL OR kind = :kind)
ORDER BY name, id;

-- name: subscription
-- A webhook or alert by its id, locked for an update.
SELECT id, tenant_id, kind, name, config, enabled, version, created_at, updated_at, active_since,
       failing_since, failure_count, disabled_reason, managed_by FROM subscription WHERE id = :id FOR UPDATE;

-- name: deliveries
-- A tenant's deliveries, newest first.
SELECT id, tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at, created_at,
       happened_at, sent_at, status_code, error, snippet, duration_ms FROM delivery
WHERE tenant_id = :tenant_id AND (:subscription_id::text IS NULL OR subscription_id = :subscription_id)
  AND (:status::text IS NULL OR status = :status) AND (:id::text IS NULL OR id = :id)
  AND (:before::text IS NULL OR id < :before)
ORDER BY id DESC LIMIT :limit;

-- name: alert_states
-- What alerts read of the endpoints they watch, of one tenant or of all.
SELECT subscription_id, tenant_id, trouble, subject_id, is_open, since, revision, notified_at, notify_at
FROM alert_state WHERE :tenant_id::text IS NULL OR tenant_id = :tenant_id;

-- name: add_deliveries
-- Insert one delivery per message and channel, for subscriptions that still exist.
INSERT INTO delivery (id, tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at, created_at,
       happened_at, sent_at, status_code, error, snippet, duration_ms)
SELECT new.* FROM unnest(
    :id::text[], :tenant_id::text[], :subscription_id::text[], :channel::text[], :key::text[], :type::text[],
    :payload::text[], :status::text[], :attempt::bigint[], :next_attempt_at::timestamptz[],
    :created_at::timestamptz[], :happened_at::timestamptz[], :sent_at::timestamptz[], :status_code::bigint[],
    :error::text[], :snippet::text[], :duration_ms::bigint[]
) AS new (id, tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at, created_at,
       happened_at, sent_at, status_code, error, snippet, duration_ms)
WHERE EXISTS (SELECT FROM subscription WHERE subscription.id = new.subscription_id)
ON CONFLICT DO NOTHING;

-- name: claim_deliveries
-- Begin attempts at due deliveries, a few per receiver; skips rows that another notifier has locked.
WITH due AS (
    SELECT next.id, next.next_attempt_at FROM subscription CROSS JOIN LATERAL (
        SELECT id, next_attempt_at FROM delivery
        WHERE subscription_id = subscription.id AND status = 'pending' AND next_attempt_at <= :now
        ORDER BY next_attempt_at, id LIMIT :per_receiver) AS next
    WHERE enabled AND NOT subscription.id = ANY (:busy::text[])
), picked AS (
    SELECT id FROM delivery
    WHERE id IN (SELECT id FROM due ORDER BY next_attempt_at, id LIMIT :limit)
      AND status = 'pending' AND next_attempt_at <= :now
    FOR UPDATE SKIP LOCKED
)
UPDATE delivery SET attempt = attempt + 1, next_attempt_at = :until, worker = :worker FROM picked WHERE delivery.id = picked.id
RETURNING delivery.id, delivery.tenant_id, delivery.subscription_id, delivery.channel, delivery.key,
          delivery.type, delivery.payload, delivery.status, delivery.attempt, delivery.next_attempt_at,
          delivery.created_at, delivery.happened_at, delivery.sent_at, delivery.status_code, delivery.error,
          delivery.snippet, delivery.duration_ms;

-- name: delivery_begun
-- A delivery whose attempt still belongs to the caller.
SELECT id, tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at, created_at,
       happened_at, sent_at, status_code, error, snippet, duration_ms FROM delivery
WHERE id = :id AND attempt = :attempt AND status = 'pending' FOR UPDATE;

-- name: held_deliveries
-- Deliveries whose quiet hours have ended; skips rows that another notifier has locked.
SELECT id, tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at, created_at,
       happened_at, sent_at, status_code, error, snippet, duration_ms FROM delivery
WHERE subscription_id IN (SELECT id FROM subscription) AND status = 'held' AND next_attempt_at <= :now
ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: next_attempt_at
-- When the earliest delivery is due.
SELECT MIN(next.next_attempt_at) FROM subscription CROSS JOIN (VALUES ('pending'), ('held')) AS waiting (status)
CROSS JOIN LATERAL (
    SELECT next_attempt_at FROM delivery WHERE subscription_id = subscription.id
      AND status IN ('pending', 'held') AND delivery.status = waiting.status ORDER BY next_attempt_at LIMIT 1) AS next
WHERE enabled;

-- name: overdue_deliveries
-- The number of unsent deliveries of each receiver that were due before a time, and the first of them.
SELECT subscription.id, subscription.name, COUNT(*) AS overdue, MIN(next_attempt_at)
FROM subscription JOIN delivery ON subscription_id = subscription.id
WHERE enabled AND status = 'pending' AND next_attempt_at < :before
GROUP BY subscription.id, subscription.name ORDER BY overdue DESC LIMIT :limit;

-- name: late_endpoints
-- Endpoints that are overdue and not leased, the most overdue first.
SELECT endpoint.tenant_id, endpoint.id, job_id, claimable_at
FROM (SELECT id, claimable_at FROM schedule WHERE claimable_at <= :before AND lease_until IS NULL
      ORDER BY claimable_at LIMIT :limit) AS late
JOIN endpoint ON endpoint.id = late.id
ORDER BY claimable_at, endpoint.id LIMIT :limit;

-- name: sweep_deliveries
-- Delete deliveries that ended before a time, one batch; ids sort by time.
DELETE FROM delivery WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM delivery WHERE id < :before AND status NOT IN ('pending', 'held') ORDER BY id LIMIT :limit));

-- name: sweep_alert_states
-- Delete the states of alerts that closed long ago.
DELETE FROM alert_state WHERE NOT is_open AND COALESCE(notified_at, since) < :before;
