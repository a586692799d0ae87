-- Which configuration source describes a webhook, an alert or a workflow; '' and no row are none. The rows stay.
ALTER TABLE subscription ADD COLUMN managed_by TEXT NOT NULL DEFAULT '';

CREATE TABLE workflow_source (
    tenant_id TEXT NOT NULL REFERENCES tenant (id),
    name      TEXT NOT NULL,
    source    TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
