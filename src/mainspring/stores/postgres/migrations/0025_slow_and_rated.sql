-- How long the last run took, by which slow runs are told from quick ones; empty until an endpoint has run again.
ALTER TABLE schedule ADD COLUMN last_duration_ms bigint CHECK (last_duration_ms >= 0);

-- Up to when the starts of a host that has a rate are paid for; see domain/schedule/host_limit.py.
CREATE TABLE host_rate (
    host       text COLLATE "C" PRIMARY KEY,
    paid_until timestamptz NOT NULL
);

-- As the function of migration 0016, with the cap of each host that is claimed for instead of one cap for all. That one
-- stays for processes of the version before.
CREATE FUNCTION claims_fit(turn bigint, at timestamptz, seen_at timestamptz, this_month text, tenants text[], hosts text[],
                           host_caps bigint[], per_tenant bigint)
RETURNS boolean VOLATILE LANGUAGE plpgsql AS $$
BEGIN
    IF at > seen_at + interval '2 seconds' OR NOT pg_try_advisory_xact_lock(turn) THEN
        RETURN false;
    END IF;
    RETURN NOT EXISTS (
        WITH held AS (
            SELECT tenant_id, host, 0 AS wanted, NULL::bigint AS cap
            FROM schedule WHERE lease_until IS NOT NULL AND lease_until > seen_at
            UNION ALL
            SELECT tenant_id, host, 1, cap FROM unnest(tenants, hosts, host_caps) AS new (tenant_id, host, cap)
        )
        SELECT FROM held GROUP BY tenant_id HAVING COUNT(*) > per_tenant AND SUM(wanted) > 0
        UNION ALL
        SELECT FROM held GROUP BY host HAVING COUNT(*) > MIN(cap)
        UNION ALL
        SELECT FROM tenant JOIN unnest(tenants) AS new (tenant_id) ON tenant.id = new.tenant_id
        WHERE runs_per_month IS NOT NULL GROUP BY tenant.id
        HAVING COUNT(*) + (SELECT COALESCE(SUM(runs), 0) FROM usage WHERE tenant_id = tenant.id AND month = this_month)
            > runs_per_month);
END $$;
