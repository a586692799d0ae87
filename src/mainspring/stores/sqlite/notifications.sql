-- Subscriptions, deliveries and alerts.

-- name: subscriptions
-- Webhooks and alerts by name, of one tenant or of all, of one kind or of both.
SELECT id, tenant_id, kind, name, config, enabled, version, created_at, updated_at, active_since,
       failing_since, failure_count, disabled_reason, managed_by FROM subscription
WHERE (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:kind IS NULL OR kind = :kind)
ORDER BY name, id;

-- name: subscription
-- A webhook or alert by its id.
SELECT id, tenant_id, kind, name, config, enabled, version, created_at, updated_at, active_since,
       failing_since, failure_count, disabled_reason, managed_by FROM subscription WHERE id = :id;

-- name: deliveries
-- A tenant's deliveries, newest first.
SELECT id, tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at, created_at,
       happened_at, sent_at, status_code, error, snippet, duration_ms FROM delivery
WHERE tenant_id = :tenant_id AND (:subscription_id IS NULL OR subscription_id = :subscription_id)
  AND (:status IS NULL OR status = :status) AND (:id IS NULL OR id = :id)
  AND (:before IS NULL OR id < :before)
ORDER BY id DESC LIMIT :limit;

-- name: alert_states
-- What alerts read of the endpoints they watch, of one tenant or of all.
SELECT subscription_id, tenant_id, trouble, subject_id, is_open, since, revision, notified_at, notify_at
FROM alert_state WHERE :tenant_id IS NULL OR tenant_id = :tenant_id;

-- name: add_deliveries
-- Insert one delivery per message and channel, for a subscription that still exists.
INSERT INTO delivery (id, tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at, created_at,
       happened_at, sent_at, status_code, error, snippet, duration_ms)
SELECT :id, :tenant_id, :subscription_id, :channel, :key, :type, :payload, :status, :attempt, :next_attempt_at,
       :created_at, :happened_at, :sent_at, :status_code, :error, :snippet, :duration_ms
WHERE EXISTS (SELECT 1 FROM subscription WHERE id = :subscription_id)
ON CONFLICT DO NOTHING;

-- name: claim_deliveries
-- Begin attempts at due deliveries, a few per receiver, by a walk to the first of each. CROSS JOIN keeps the receivers
-- first. The partial index needs its condition word for word.
-- parameters: now, per_receiver, busy, limit, until, worker
UPDATE delivery SET attempt = attempt + 1, next_attempt_at = :until, worker = :worker WHERE id IN (
    SELECT due.id FROM subscription CROSS JOIN delivery AS due ON due.id IN (
        SELECT id FROM delivery WHERE subscription_id = subscription.id AND status IN ('pending', 'held')
          AND status = 'pending' AND next_attempt_at <= :now ORDER BY next_attempt_at, id LIMIT :per_receiver)
    WHERE subscription.enabled = 1 AND subscription.id NOT IN (SELECT value FROM json_each(:busy))
    ORDER BY due.next_attempt_at, due.id LIMIT :limit)
RETURNING id, tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at, created_at,
       happened_at, sent_at, status_code, error, snippet, duration_ms;

-- name: delivery_begun
-- A delivery whose attempt still belongs to the caller.
SELECT id, tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at, created_at,
       happened_at, sent_at, status_code, error, snippet, duration_ms FROM delivery
WHERE id = :id AND attempt = :attempt AND status = 'pending';

-- name: held_deliveries
-- Deliveries whose quiet hours have ended. Without INDEXED BY, SQLite prefers an index that saves sorting a few rows.
SELECT delivery.id, delivery.tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at,
       delivery.created_at, happened_at, sent_at, status_code, error, snippet, duration_ms
FROM subscription CROSS JOIN delivery INDEXED BY delivery_next ON subscription_id = subscription.id
WHERE status IN ('pending', 'held') AND status = 'held' AND next_attempt_at <= :now
ORDER BY delivery.id LIMIT :limit;

-- name: next_attempt_at
-- When the earliest delivery is due.
SELECT MIN(at) FROM (
    SELECT (SELECT next_attempt_at FROM delivery WHERE subscription_id = subscription.id
            AND status IN ('pending', 'held') AND status = waiting.status ORDER BY next_attempt_at LIMIT 1) AS at
    FROM subscription CROSS JOIN (SELECT 'pending' AS status UNION ALL SELECT 'held') AS waiting WHERE enabled = 1);

-- name: overdue_deliveries
-- The number of unsent deliveries of each receiver that were due before a time, and the first of them.
SELECT subscription.id, subscription.name, COUNT(*) AS overdue, MIN(next_attempt_at)
FROM subscription CROSS JOIN delivery ON subscription_id = subscription.id
WHERE enabled = 1 AND status IN ('pending', 'held') AND status = 'pending' AND next_attempt_at < :before
GROUP BY subscription.id, subscription.name ORDER BY overdue DESC LIMIT :limit;

-- name: late_endpoints
-- Endpoints that are overdue and not leased, the most overdue first.
SELECT endpoint.tenant_id, endpoint.id, job_id, claimable_at
FROM schedule JOIN endpoint USING (id)
WHERE claimable_at <= :before AND claimable_at IS NOT NULL
  AND lease_until IS NULL
ORDER BY claimable_at, endpoint.id LIMIT :limit;

-- name: sweep_deliveries
-- Delete deliveries that ended before a time, one batch; ids sort by time.
DELETE FROM delivery WHERE rowid IN (
    SELECT rowid FROM delivery WHERE id < :before AND status NOT IN ('pending', 'held') ORDER BY id LIMIT :limit);

-- name: sweep_alert_states
-- Delete the states of alerts that closed long ago.
DELETE FROM alert_state WHERE is_open = 0 AND COALESCE(notified_at, since) < :before;
