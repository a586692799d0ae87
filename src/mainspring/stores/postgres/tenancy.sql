-- name: work_for
-- Until the transaction ends, only one tenant's rows are there. No tenant is named like all of them. Behind a bouncer the
-- connection has no limit of ours for a transaction whose process is stopped, so each transaction sets it.
SELECT set_config('mainspring.tenant', CASE :tenant_id WHEN '*' THEN '' ELSE :tenant_id END, true),
    set_config('idle_in_transaction_session_timeout', '{{idle_limit}}', true);

-- name: work_for_all
-- The same for a worker, where the connection may have been another's.
SELECT set_config('mainspring.tenant', '*', true),
    set_config('idle_in_transaction_session_timeout', '{{idle_limit}}', true);

-- name: guard_tenants
-- Policies for tables that have come since; what has a tenant_id and none of its own gets the one of all the others.
SELECT guard_tenants();

-- name: is_above_policies
-- Whether row-level security holds for this user at all: a superuser's and some others' statements pass it by.
SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user;

-- name: owns_tables
-- Whether this user could switch the policies off: it owns the tables, or may become who does.
SELECT pg_has_role(relowner, 'MEMBER') FROM pg_class WHERE oid = 'endpoint'::regclass;
