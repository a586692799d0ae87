-- name: open_proposals
-- An endpoint's pending proposals, and the rejected ones that would still be valid.
SELECT {{proposal_columns}} FROM proposal
WHERE endpoint_id = :endpoint_id AND (state = 'pending' OR (state = 'rejected' AND expires_at > :now))
ORDER BY created_at, id;

-- name: put_proposal
-- Insert a proposal, or update a pending one; a decided one is not changed.
INSERT INTO proposal ({{proposal_columns}}) VALUES ({{proposal_parameters}})
ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, cause = excluded.cause, expires_at = excluded.expires_at,
    state = excluded.state, decided_at = excluded.decided_at, decided_by = excluded.decided_by, note = excluded.note
WHERE proposal.state = 'pending';

-- name: proposals
-- A tenant's proposals, newest first. A pending one past its expiry counts as expired.
SELECT {{proposal_columns}} FROM proposal
WHERE tenant_id = :tenant_id
  AND (CAST(:endpoint_id AS text) IS NULL OR endpoint_id = :endpoint_id)
  AND (CAST(:state AS text) IS NULL
       OR CASE WHEN state = 'pending' AND expires_at <= :now THEN 'expired' ELSE state END = :state)
  AND (CAST(:before_id AS text) IS NULL OR (created_at, id) < (:before_at, :before_id))
ORDER BY created_at DESC, id DESC LIMIT :limit;

-- name: proposal
-- One proposal of a tenant.
SELECT {{proposal_columns}} FROM proposal WHERE tenant_id = :tenant_id AND id = :id;

-- name: count_pending_proposals
-- The number of pending proposals of a tenant, or of one endpoint.
SELECT COUNT(*) FROM proposal
WHERE tenant_id = :tenant_id AND state = 'pending' AND expires_at > :now
  AND (CAST(:endpoint_id AS text) IS NULL OR endpoint_id = :endpoint_id);

-- name: withdraw_proposals
-- End the pending proposals of everything, a tenant or an endpoint: the mode changed or the endpoint was archived.
UPDATE proposal SET state = 'withdrawn', decided_at = :now, decided_by = :actor, note = :note
WHERE state = 'pending'
  AND CAST(:scope AS text) IN ('all', 'tenant:' || tenant_id, 'endpoint:' || endpoint_id)
RETURNING {{proposal_columns}};

-- name: any_expired_proposal
-- Whether such a proposal exists.
SELECT 1 FROM proposal WHERE state = 'pending' AND expires_at <= :now LIMIT 1;

-- name: expire_proposals
-- Expire pending proposals past their expiry, one batch; each is returned to one caller only.
UPDATE proposal SET state = 'expired', decided_at = :now, decided_by = 'system'
WHERE state = 'pending'
  AND id IN (SELECT id FROM proposal WHERE state = 'pending' AND expires_at <= :now ORDER BY expires_at LIMIT :limit)
RETURNING {{proposal_columns}};

-- name: sweep_proposals
-- Delete decided proposals past their retention, one batch.
DELETE FROM proposal WHERE id IN (
    SELECT id FROM proposal WHERE state <> 'pending' AND decided_at < :before ORDER BY decided_at LIMIT :limit);
