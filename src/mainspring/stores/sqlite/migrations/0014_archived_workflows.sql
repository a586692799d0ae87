-- Workflows that nobody may start any more. Their versions stay, for the executions that run and for those that ended.
CREATE TABLE archived_workflow (
    tenant_id   TEXT NOT NULL,
    name        TEXT NOT NULL,
    archived_us INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
