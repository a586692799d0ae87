-- Text is compared byte by byte in every column, as SQLite and the engine do: in a database that was made for a language
-- executions of one tick, and events that reached one at the same instant, were taken in the order of that language.
-- A column that a policy names cannot be altered, so the policies are taken down meanwhile and put back as they were.
DO $$ DECLARE
    up text[];
    down text[];
    columns text[];
    each text;
BEGIN
    SELECT array_agg(format('DROP POLICY %I ON %I', policyname, tablename)),
           array_agg(format('CREATE POLICY %I ON %I USING (%s)', policyname, tablename, qual))
    INTO down, up FROM pg_policies WHERE schemaname = current_schema();
    columns := ARRAY(
        SELECT format('ALTER TABLE %I %s', relname, string_agg(
            format('ALTER COLUMN %I TYPE text COLLATE "C"', attname), ', '))
        FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
          AND atttypid = 'text'::regtype AND attcollation <> '"C"'::regcollation
        GROUP BY relname);
    FOREACH each IN ARRAY down || columns || up LOOP
        EXECUTE each;
    END LOOP;
END $$;
