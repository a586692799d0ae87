-- Workflows that nobody may start any more. Their versions stay, for the executions that run and for those that ended.
CREATE TABLE archived_workflow (
    tenant_id   text NOT NULL,
    name        text NOT NULL,
    archived_us bigint NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
