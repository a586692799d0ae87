-- Which source manages what: queries that both databases share.

-- name: workflow_sources
-- The configuration source of each workflow.
SELECT name, source FROM workflow_source WHERE tenant_id = :tenant_id ORDER BY name;

-- name: put_workflow_source
-- Set the configuration source of a workflow.
INSERT INTO workflow_source (tenant_id, name, source) VALUES (:tenant_id, :name, :source)
ON CONFLICT (tenant_id, name) DO UPDATE SET source = excluded.source;

-- name: remove_workflow_source
-- Remove the configuration source of a workflow.
DELETE FROM workflow_source WHERE tenant_id = :tenant_id AND name = :name;

-- name: recount_changed_rule
-- Reset the counts of a rule that a document changed. The time it last fired stays, for its cooldown.
UPDATE rule_state SET streak = 0, fault = ''
WHERE rule_id = :rule_id AND EXISTS (SELECT 1 FROM rule WHERE id = :rule_id AND document <> :document);

-- name: write_rule
-- Insert or update a rule of a document.
INSERT INTO rule (id, tenant_id, job_id, endpoint_id, position, name, document, reads_others, created_at)
VALUES (:id, :tenant_id, :job_id, :endpoint_id, :position, :name, :document, :reads_others, :created_at)
ON CONFLICT (id) DO UPDATE SET position = excluded.position, document = excluded.document,
    reads_others = excluded.reads_others, created_at = excluded.created_at;
