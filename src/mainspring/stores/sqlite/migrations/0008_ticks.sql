-- What a tick costs: the queue of the executions that are ready is a table of its own, the end of an execution is a
-- column that changes once, and hashes are bytes, half the size of their text.
DROP INDEX execution_ready;
CREATE TABLE execution_ready (
    partition    INTEGER NOT NULL,
    tick         INTEGER NOT NULL,
    execution_id TEXT NOT NULL,
    PRIMARY KEY (partition, tick, execution_id)
) WITHOUT ROWID, STRICT;
INSERT INTO execution_ready SELECT partition, ready_tick, id FROM execution WHERE ready_tick IS NOT NULL;

-- Whoever adds an execution has queued it; after that the ticker alone writes the queue.
CREATE TRIGGER execution_queued AFTER INSERT ON execution WHEN NEW.ready_tick IS NOT NULL
BEGIN
    INSERT INTO execution_ready (partition, tick, execution_id) VALUES (NEW.partition, NEW.ready_tick, NEW.id);
END;

ALTER TABLE execution ADD COLUMN ended_us INTEGER;
UPDATE execution SET ended_us = moved_us WHERE status IN ('completed', 'cancelled');
DROP INDEX execution_ended;
CREATE INDEX execution_ended ON execution (partition, ended_us) WHERE ended_us IS NOT NULL;

ALTER TABLE execution_entry RENAME TO execution_entry_in_text;
CREATE TABLE execution_entry (
    execution_id TEXT NOT NULL,
    number       INTEGER NOT NULL,
    tick         INTEGER NOT NULL,
    step         TEXT NOT NULL,
    action       TEXT NOT NULL,
    input_hash   BLOB NOT NULL,
    output_hash  BLOB NOT NULL,
    context      BLOB NOT NULL,
    previous     BLOB NOT NULL,
    hash         BLOB NOT NULL,
    input        TEXT,
    output       TEXT,
    PRIMARY KEY (execution_id, number)
) STRICT;
INSERT INTO execution_entry
SELECT execution_id, number, tick, step, action, unhex(input_hash), unhex(output_hash), unhex(context), unhex(previous),
    unhex(hash), input, output FROM execution_entry_in_text;
DROP TABLE execution_entry_in_text;
