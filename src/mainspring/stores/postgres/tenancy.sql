-- name: work_for
-- Show only one tenant's rows until the transaction ends; a tenant cannot be named `*`. Behind a bouncer the connection
-- has no idle limit of ours, so each transaction sets it.
SELECT set_config('mainspring.tenant', CASE :tenant_id WHEN '*' THEN '' ELSE :tenant_id END, true),
    set_config('idle_in_transaction_session_timeout', '{{idle_limit}}', true);

-- name: work_for_all
-- The same for a worker, because behind a bouncer the connection may have been used by another process.
SELECT set_config('mainspring.tenant', '*', true),
    set_config('idle_in_transaction_session_timeout', '{{idle_limit}}', true);

-- name: guard_tenants
-- Create policies for new tables: every table with a tenant_id and without a policy gets the common one.
SELECT guard_tenants();

-- name: is_above_policies
-- Whether row-level security does not apply to this user, such as a superuser.
SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user;

-- name: owns_tables
-- Whether this user could disable the policies: it owns the tables, or may become their owner.
SELECT pg_has_role(relowner, 'MEMBER') FROM pg_class WHERE oid = 'endpoint'::regclass;
