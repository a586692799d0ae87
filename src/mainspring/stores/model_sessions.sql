-- name: add_planner_session
-- Store the result of a session.
INSERT INTO planner_session ({{analysis_columns}}) VALUES ({{analysis_parameters}});

-- name: planner_session
-- One session.
SELECT {{analysis_columns}} FROM planner_session WHERE tenant_id = :tenant_id AND id = :id;

-- name: end_analysis
-- End the lease, and set the time of the next session.
UPDATE analysis SET lease_until = NULL, next_analysis_at = :next_analysis_at, failure_count = :failure_count
WHERE endpoint_id = :endpoint_id AND worker = :worker;

-- name: count_tokens
-- Add the usage of a session to the month of its tenant.
INSERT INTO token_usage (tenant_id, month, tokens_in, tokens_out, cost_micros, sessions)
VALUES (:tenant_id, :month, :tokens_in, :tokens_out, :cost_micros, 1)
ON CONFLICT (tenant_id, month) DO UPDATE SET tokens_in = token_usage.tokens_in + excluded.tokens_in,
    tokens_out = token_usage.tokens_out + excluded.tokens_out,
    cost_micros = token_usage.cost_micros + excluded.cost_micros, sessions = token_usage.sessions + 1;

-- name: token_usage
-- The usage of a tenant in a month.
SELECT month, tokens_in, tokens_out, cost_micros, sessions FROM token_usage
WHERE tenant_id = :tenant_id AND month = :month;
