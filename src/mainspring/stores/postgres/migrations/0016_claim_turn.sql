-- Whether a claim that was decided on by an earlier look may be written: the look is fresh, for leases and misfires are
-- reckoned from it, and caps and quotas still have room. Takes the turn to claim for what is left of the transaction and
-- counts again: a function that may write sees what was committed until it is called, where the statement that calls it
-- sees only what was there when it began.
CREATE FUNCTION claims_fit(turn bigint, at timestamptz, seen_at timestamptz, this_month text, tenants text[], hosts text[],
                           per_tenant bigint, per_host bigint)
RETURNS boolean VOLATILE LANGUAGE plpgsql AS $$
BEGIN
    IF at > seen_at + interval '2 seconds' OR NOT pg_try_advisory_xact_lock(turn) THEN
        RETURN false;
    END IF;
    RETURN NOT EXISTS (
        WITH held AS (
            SELECT tenant_id, host, 0 AS wanted FROM schedule WHERE lease_until IS NOT NULL AND lease_until > seen_at
            UNION ALL
            SELECT tenant_id, host, 1 FROM unnest(tenants, hosts) AS new (tenant_id, host)
        )
        SELECT FROM held GROUP BY tenant_id HAVING COUNT(*) > per_tenant AND SUM(wanted) > 0
        UNION ALL
        SELECT FROM held GROUP BY host HAVING COUNT(*) > per_host AND SUM(wanted) > 0
        UNION ALL
        SELECT FROM tenant JOIN unnest(tenants) AS new (tenant_id) ON tenant.id = new.tenant_id
        WHERE runs_per_month IS NOT NULL GROUP BY tenant.id
        HAVING COUNT(*) + (SELECT COALESCE(SUM(runs), 0) FROM usage WHERE tenant_id = tenant.id AND month = this_month)
            > runs_per_month);
END $$;
