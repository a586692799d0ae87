-- name: list_columns
-- Columns of every table, without generated ones: their kinds, and their places in the key.
SELECT t.name, c.name, c.type, c.pk FROM sqlite_schema AS t, pragma_table_xinfo(t.name) AS c
WHERE t.type = 'table' AND substr(t.name, 1, 7) <> 'sqlite_' AND c.hidden = 0 ORDER BY t.name, c.name;

-- name: list_parents
-- The tables that the foreign keys of a table name.
SELECT t.name, f."table" FROM sqlite_schema AS t, pragma_foreign_key_list(t.name) AS f WHERE t.type = 'table';

-- name: read_row
-- The row with this key.
SELECT @columns FROM @table WHERE @range;

-- name: put_row
-- Insert a row as it is in the other database.
INSERT INTO @table (@columns) VALUES (@values);

-- name: forget_changes
-- Delete the records of changes that were copied.
DELETE FROM move_change WHERE id IN (SELECT value FROM json_each(:ids));

-- name: record_changes
-- Record the key of every row that changes.
CREATE TRIGGER IF NOT EXISTS "move_record_@name_@act" AFTER @act ON @table
BEGIN INSERT INTO move_change (table_name, key) VALUES ('@name', json_array(@key)); END;

-- name: stop_recording
-- Stop recording changes.
DROP TRIGGER IF EXISTS "move_record_@name_@act";

-- name: refuse_writes
-- Refuse every write: the installation has moved.
CREATE TRIGGER "move_refuse_@name_@act" BEFORE @act ON @table
BEGIN SELECT RAISE(ABORT, 'this installation has moved'); END;

-- name: orphans
-- Rows whose foreign keys name no row.
SELECT "table" FROM pragma_foreign_key_check LIMIT 1;
