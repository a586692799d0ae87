-- Only lists of a tenant may use this index. PostgreSQL 18 skips from tenant to tenant in it: a look for due endpoints
-- then read and sorted all due endpoints, instead of a window in the order of due times.
DROP INDEX schedule_upcoming;
CREATE INDEX schedule_upcoming ON schedule (tenant_id, claimable_at) WHERE claimable_at IS NOT NULL AND tenant_id IS NOT NULL;

-- The limit of the first pattern that matches a host, as a function that the planner considers cheap: with a subquery
-- in its place, every look was planned again, although there are usually no patterns.
CREATE FUNCTION cap_of_host(host text, patterns text[], caps bigint[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE COST 1 AS $$
BEGIN
    FOR place IN 1 .. cardinality(patterns) LOOP
        IF host LIKE patterns[place] THEN
            RETURN caps[place];
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
