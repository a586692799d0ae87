-- Statements of `move`, for any table. `@table`, `@columns`, `@key` and `@range` are filled with names that the database
-- itself gave, quoted, and with marks of parameters: see `stores/move_side.py`.

-- name: read_page
-- Rows of a table in the order of its key.
SELECT @columns FROM @table WHERE @range ORDER BY @key LIMIT :limit;

-- name: remove_page
-- Rows of a range of keys.
DELETE FROM @table WHERE @range;

-- name: count_rows
-- How many rows a table has.
SELECT COUNT(*) FROM @table;

-- name: list_changes
-- Keys of rows that changed during a move, the oldest change first.
SELECT id, table_name, key FROM move_change ORDER BY id LIMIT :limit;

-- name: forget_all_changes
-- The move is over.
DELETE FROM move_change;

-- name: forget_installation
-- A value of this installation is not needed any more.
DELETE FROM installation WHERE key = :key;
