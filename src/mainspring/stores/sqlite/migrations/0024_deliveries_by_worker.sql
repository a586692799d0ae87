-- What a dead notifier was sending is found without a walk over everything that waits.
CREATE INDEX delivery_by_worker ON delivery (worker) WHERE worker <> '';
