-- Statements of `move`, for any table. `@table`, `@columns`, `@key` and `@range` are replaced by quoted names that the
-- database itself returned, and by parameter marks: see `stores/move_side.py`.

-- name: read_page
-- Rows of a table, in the order of its key.
SELECT @columns FROM @table WHERE @range ORDER BY @key LIMIT :limit;

-- name: remove_page
-- Rows of a range of keys.
DELETE FROM @table WHERE @range;

-- name: count_rows
-- The number of rows of a table.
SELECT COUNT(*) FROM @table;

-- name: list_changes
-- Keys of rows that changed during a move, the oldest change first.
SELECT id, table_name, key FROM move_change ORDER BY id LIMIT :limit;

-- name: forget_all_changes
-- Delete the record of the move.
DELETE FROM move_change;

-- name: forget_installation
-- Delete a value of the installation.
DELETE FROM installation WHERE key = :key;
