-- name: add_subscription
-- Insert a webhook or alert.
INSERT INTO subscription (id, tenant_id, kind, name, config, enabled, version, created_at, updated_at, active_since,
       failing_since, failure_count, disabled_reason, managed_by)
VALUES (:id, :tenant_id, :kind, :name, :config, :enabled, :version, :created_at, :updated_at, :active_since,
        :failing_since, :failure_count, :disabled_reason, :managed_by);

-- name: put_subscription
-- Update the configuration of a webhook or alert, if it is unchanged since it was read.
UPDATE subscription SET name = :name, config = :config, enabled = :enabled, version = :version,
    updated_at = :updated_at, active_since = :active_since, failing_since = :failing_since,
    failure_count = :failure_count, disabled_reason = :disabled_reason, managed_by = :managed_by
WHERE tenant_id = :tenant_id AND id = :id AND version = :version - 1;

-- name: put_subscription_health
-- Update the delivery health of a webhook or alert, and whether failures disabled it.
UPDATE subscription SET enabled = :enabled, updated_at = :updated_at, failing_since = :failing_since,
    failure_count = :failure_count, disabled_reason = :disabled_reason
WHERE id = :id;

-- name: delete_subscription
-- Delete a webhook or alert.
DELETE FROM subscription WHERE tenant_id = :tenant_id AND id = :id;

-- name: delete_deliveries
-- Delete its deliveries.
DELETE FROM delivery WHERE subscription_id = :subscription_id;

-- name: delete_alert_states
-- Delete its alert states.
DELETE FROM alert_state WHERE subscription_id = :subscription_id;

-- name: begin_outbox
-- Set the initial position in the events, if it is not set.
INSERT INTO outbox_position (id, cursor) VALUES (1, :cursor) ON CONFLICT (id) DO NOTHING;

-- name: outbox_position
-- The position in the events.
SELECT cursor FROM outbox_position;

-- name: move_outbox
-- Move the position in the events, if it is unchanged since it was read.
UPDATE outbox_position SET cursor = :after WHERE cursor = :before;

-- name: put_delivery
-- Record the result of an attempt at a delivery.
UPDATE delivery SET worker = '', status = :status, next_attempt_at = :next_attempt_at, sent_at = :sent_at,
    status_code = :status_code, error = :error, snippet = :snippet, duration_ms = :duration_ms
WHERE id = :id;

-- name: digest_delivery
-- Mark a delivery as merged into another one.
UPDATE delivery SET status = 'digested' WHERE id = :id;

-- name: redeliver
-- Send a finished delivery again, counting attempts from the first.
UPDATE delivery SET status = 'pending', attempt = 0, next_attempt_at = :now
WHERE tenant_id = :tenant_id AND id = :id AND status <> 'pending'
RETURNING id, tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at, created_at,
       happened_at, sent_at, status_code, error, snippet, duration_ms;

-- name: put_alert_state
-- Insert an alert state, or update it if it is unchanged since it was read.
INSERT INTO alert_state (subscription_id, tenant_id, trouble, subject_id, is_open, since, revision, notified_at, notify_at)
VALUES (:subscription_id, :tenant_id, :trouble, :subject_id, :is_open, :since, :revision, :notified_at, :notify_at)
ON CONFLICT (subscription_id, trouble, subject_id) DO UPDATE
SET is_open = excluded.is_open, since = excluded.since, revision = excluded.revision,
    notified_at = excluded.notified_at, notify_at = excluded.notify_at
WHERE alert_state.revision = excluded.revision - 1;
