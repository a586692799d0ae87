-- A second net under tenancy, and the events of one tenant by an index.
CREATE INDEX event_by_tenant ON event (tenant_id, tx, seq);

-- Who may be seen: nobody while mainspring.tenant is not set, all at '*' (the workers), else that tenant. Through a
-- subquery, so that it is looked up once for a statement and not for every row; as a CASE, which nobody takes for a
-- filter that leaves one row in two hundred and plans accordingly. FORCE: the owner is who we are.
CREATE FUNCTION guard_table(name text, condition text) RETURNS void LANGUAGE plpgsql AS
$$ BEGIN
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY one_tenant ON %I USING (%s)', name, condition);
END $$;

-- Every table with a tenant_id that has no policy yet; runs again after every later migration.
CREATE FUNCTION guard_tenants() RETURNS void LANGUAGE plpgsql AS
$$ DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT pg_class.relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'tenant_id'
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND NOT relrowsecurity
    LOOP
        PERFORM guard_table(found.relname,
            'CASE WHEN (SELECT current_setting(''mainspring.tenant'', true)) = ''*'' THEN true
                  ELSE tenant_id = (SELECT NULLIF(current_setting(''mainspring.tenant'', true), '''')) END');
    END LOOP;
END $$;

SELECT guard_tenants();
SELECT guard_table('tenant', '(SELECT NULLIF(current_setting(''mainspring.tenant'', true), '''')) IN (''*'', id)');
-- What belongs to a row that is guarded is there for whom that row is there. Not execution_entry: ticks copy into it,
-- and COPY knows no policies; it is read by the id of an execution that was found before.
SELECT guard_table('execution_arrival', '(SELECT current_setting(''mainspring.tenant'', true)) = ''*'' OR EXISTS (SELECT FROM execution WHERE id = execution_id)');
SELECT guard_table('rule_state', '(SELECT current_setting(''mainspring.tenant'', true)) = ''*'' OR EXISTS (SELECT FROM rule WHERE id = rule_id)');
