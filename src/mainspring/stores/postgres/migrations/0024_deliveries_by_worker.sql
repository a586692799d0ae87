-- What a dead notifier was sending is found without a walk over everything that waits.
-- An attempt that was interrupted leaves an invalid index behind, so it is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS delivery_by_worker;
CREATE INDEX CONCURRENTLY delivery_by_worker ON delivery (worker) WHERE worker <> '';
