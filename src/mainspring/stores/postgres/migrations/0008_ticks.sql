-- What a tick costs. An update that changes an indexed column writes every index of its row again, and every tick changes
-- when an execution is ready and when it moved: so the queue of those that are ready is a table of its own, the end of an
-- execution is a column that changes once, and half of each page is left for the next version of its rows.
-- Hashes are bytes: half the size of their text.
DROP INDEX execution_ready;
CREATE TABLE execution_ready (
    partition    bigint NOT NULL,
    tick         bigint NOT NULL,
    execution_id text NOT NULL,
    PRIMARY KEY (partition, tick, execution_id)
);
INSERT INTO execution_ready SELECT partition, ready_tick, id FROM execution WHERE ready_tick IS NOT NULL;

-- Whoever adds an execution has queued it; after that the ticker alone writes the queue.
CREATE FUNCTION queue_execution() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO execution_ready (partition, tick, execution_id) VALUES (NEW.partition, NEW.ready_tick, NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER execution_queued AFTER INSERT ON execution
    FOR EACH ROW WHEN (NEW.ready_tick IS NOT NULL) EXECUTE FUNCTION queue_execution();

ALTER TABLE execution ADD COLUMN ended_us bigint;
UPDATE execution SET ended_us = moved_us WHERE status IN ('completed', 'cancelled');
DROP INDEX execution_ended;
CREATE INDEX execution_ended ON execution (partition, ended_us) WHERE ended_us IS NOT NULL;
ALTER TABLE execution SET (fillfactor = 50);

ALTER TABLE execution_entry
    ALTER COLUMN input_hash TYPE bytea USING decode(input_hash, 'hex'),
    ALTER COLUMN output_hash TYPE bytea USING decode(output_hash, 'hex'),
    ALTER COLUMN context TYPE bytea USING decode(context, 'hex'),
    ALTER COLUMN previous TYPE bytea USING decode(previous, 'hex'),
    ALTER COLUMN hash TYPE bytea USING decode(hash, 'hex');
ALTER TABLE workflow_tick ALTER COLUMN heads SET STORAGE EXTERNAL;
