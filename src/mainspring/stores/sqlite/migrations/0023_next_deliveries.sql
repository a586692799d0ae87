-- What a receiver gets next, however many deliveries wait for others, and however many were delivered.
CREATE INDEX delivery_next ON delivery (subscription_id, status, next_attempt_at, id)
    WHERE status IN ('pending', 'held');
DROP INDEX delivery_waiting;
