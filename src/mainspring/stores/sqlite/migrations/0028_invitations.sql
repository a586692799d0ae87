-- What proved that an address belongs to the person who uses the account: '' nothing yet, 'email', 'sso', 'operator', or
-- 'tenant:<id>' where only a link of that tenant set the password. 'unknown' is an account from before this was recorded.
ALTER TABLE account ADD COLUMN proof TEXT NOT NULL DEFAULT '';
UPDATE account SET proof = CASE
    WHEN is_operator = 1 THEN 'operator'
    WHEN subject <> '' THEN 'sso'
    WHEN password_hash = '' THEN ''
    WHEN (SELECT count(*) FROM tenant) = 1 THEN 'operator'
    WHEN (SELECT count(*) FROM member WHERE account_id = account.id) = 1
        THEN 'tenant:' || (SELECT tenant_id FROM member WHERE account_id = account.id)
    ELSE 'unknown' END;

-- The tenant that requests act in which name none; '': the one that the user joined first.
ALTER TABLE account ADD COLUMN home TEXT NOT NULL DEFAULT '';

-- Places in tenants that were offered to an address and not accepted yet.
CREATE TABLE invitation (
    tenant_id  TEXT NOT NULL REFERENCES tenant (id),
    email      TEXT NOT NULL,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'owner')),
    proof      TEXT NOT NULL,  -- what using the link proves about the address
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    token_hash TEXT NOT NULL UNIQUE,
    PRIMARY KEY (tenant_id, email)
) STRICT;
CREATE INDEX link_by_account ON link (account_id);

-- A link from before says not who made it, and now that counts.
DELETE FROM link WHERE account_id <> '';
