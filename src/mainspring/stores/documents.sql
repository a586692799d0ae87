-- Who manages what, in the words that both databases speak.

-- name: workflow_sources
-- Which configuration source describes each workflow.
SELECT name, source FROM workflow_source WHERE tenant_id = :tenant_id ORDER BY name;

-- name: put_workflow_source
-- A configuration source describes this workflow from now on.
INSERT INTO workflow_source (tenant_id, name, source) VALUES (:tenant_id, :name, :source)
ON CONFLICT (tenant_id, name) DO UPDATE SET source = excluded.source;

-- name: remove_workflow_source
-- No configuration source describes this workflow any more.
DELETE FROM workflow_source WHERE tenant_id = :tenant_id AND name = :name;

-- name: recount_changed_rule
-- What a rule has counted does not count any more where a document says something else; when it fired does.
UPDATE rule_state SET streak = 0, fault = ''
WHERE rule_id = :rule_id AND EXISTS (SELECT 1 FROM rule WHERE id = :rule_id AND document <> :document);

-- name: write_rule
-- A rule as a document has it, new or changed.
INSERT INTO rule (id, tenant_id, job_id, endpoint_id, position, name, document, reads_others, created_at)
VALUES (:id, :tenant_id, :job_id, :endpoint_id, :position, :name, :document, :reads_others, :created_at)
ON CONFLICT (id) DO UPDATE SET position = excluded.position, document = excluded.document,
    reads_others = excluded.reads_others, created_at = excluded.created_at;
