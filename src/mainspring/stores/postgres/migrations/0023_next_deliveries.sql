-- What a receiver gets next, however many deliveries wait for others, and however many were delivered.
-- An attempt that was interrupted leaves an invalid index behind, so it is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS delivery_next;
CREATE INDEX CONCURRENTLY delivery_next ON delivery (subscription_id, status, next_attempt_at, id)
    WHERE status IN ('pending', 'held');
DROP INDEX CONCURRENTLY IF EXISTS delivery_waiting;
