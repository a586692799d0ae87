-- name: list_columns
-- Columns of every table, without partitions and generated columns: their kinds in SQLite, and their places in the key.
SELECT relname::text, attname::text,
    CASE WHEN typname IN ('int4', 'int8', 'bool', 'timestamptz') THEN 'INTEGER' WHEN typname = 'text' THEN 'TEXT'
         WHEN typname = 'bytea' THEN 'BLOB' ELSE typname::text END,
    COALESCE(array_position(indkey::int2[], attnum) + 1, 0)
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid JOIN pg_type ON pg_type.oid = atttypid
LEFT JOIN pg_index ON indrelid = pg_class.oid AND indisprimary
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
ORDER BY relname, attname;

-- name: list_parents
-- The tables that the foreign keys of a table name.
SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint
WHERE contype = 'f' AND connamespace = current_schema()::regnamespace;

-- name: list_types
-- The types of columns.
SELECT relname::text, attname::text, format_type(atttypid, NULL) FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND attnum > 0;

-- name: read_rows
-- The rows with these keys.
SELECT @columns FROM @table WHERE (@key) IN (SELECT * FROM unnest(@values));

-- name: remove_rows
-- Delete the rows with these keys.
DELETE FROM @table WHERE (@key) IN (SELECT * FROM unnest(@values));

-- name: make_stage
-- Create a temporary table that COPY can fill: COPY refuses tables with row-level security.
CREATE TEMP TABLE IF NOT EXISTS "move_@name" AS SELECT @columns FROM @table WITH NO DATA;

-- name: put_staged
-- Insert rows as they are in the other database.
INSERT INTO @table (@columns) OVERRIDING SYSTEM VALUE SELECT @columns FROM "move_@name";

-- name: clear_stage
-- Empty the temporary table for the next rows.
TRUNCATE "move_@name";

-- name: forget_changes
-- Delete the records of changes that were copied.
DELETE FROM move_change WHERE id = ANY (:ids::bigint[]);

-- name: record_changes
-- Record the key of every row that changes.
CREATE OR REPLACE TRIGGER "move_record_@act" AFTER @act ON @table REFERENCING @seen TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION record_change('@key');

-- name: stop_recording
-- Stop recording changes.
DROP TRIGGER IF EXISTS "move_record_@act" ON @table;

-- name: lock_table
-- Lock a table: others can read it, but not write to it, until the transaction ends.
LOCK TABLE @table IN SHARE ROW EXCLUSIVE MODE;

-- name: refuse_writes
-- Refuse every write: the installation has moved.
CREATE TRIGGER move_refuse BEFORE INSERT OR UPDATE OR DELETE ON @table
FOR EACH STATEMENT EXECUTE FUNCTION refuse_write();

-- name: silence_triggers
-- Disable triggers, because rows arrive with the results of the source's triggers.
ALTER TABLE @table DISABLE TRIGGER USER;

-- name: restore_triggers
-- Enable triggers again.
ALTER TABLE @table ENABLE TRIGGER USER;

-- name: make_event_partition
-- Create the partition for events with these numbers, if it does not exist.
SELECT make_partition('event', 'event_' || number, (number << 30)::text, ((number + 1) << 30)::text,
                      'autovacuum_vacuum_scale_factor = 0.05')
FROM (SELECT :number::bigint AS number) AS wanted
WHERE NOT EXISTS (SELECT FROM history_partition WHERE name = 'event_' || number);

-- name: continue_events
-- Number new events after those that were copied.
SELECT setval('event_seq_seq', GREATEST((SELECT MAX(seq) FROM event), 1));

-- name: make_next_event_partitions
-- Create the partitions for new events.
SELECT make_event_partitions();
