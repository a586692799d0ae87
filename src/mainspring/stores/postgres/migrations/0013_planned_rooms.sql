-- How many more runs of a tenant may start, by its cap and its quota; NULL: any number. In PL/pgSQL, which plans a query once
-- for a connection: before PostgreSQL 18 a function in SQL is planned at every call, which took four times as long as to count.
CREATE OR REPLACE FUNCTION tenant_room(tenant_id text, per_tenant bigint, seen_at timestamptz, quota bigint, this_month text)
RETURNS bigint VOLATILE LANGUAGE plpgsql AS $$
DECLARE
    room bigint;
BEGIN
    IF $2 IS NOT NULL THEN
        room := $2 - (SELECT COUNT(*) FROM (
            SELECT FROM schedule AS held WHERE held.tenant_id = $1 AND lease_until IS NOT NULL AND lease_until > $3
            LIMIT $2) AS flight);
    END IF;
    IF $4 IS NOT NULL THEN
        room := LEAST(room, $4 - (SELECT COALESCE(SUM(runs), 0)::bigint FROM usage WHERE usage.tenant_id = $1 AND month = $5));
    END IF;
    RETURN room;
END $$;
