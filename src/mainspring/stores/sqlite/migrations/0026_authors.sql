-- Who set a pause, whether its author lets advice end it, and the newest advice that an endpoint refused.
ALTER TABLE schedule ADD COLUMN pause_author TEXT NOT NULL DEFAULT '';
ALTER TABLE schedule ADD COLUMN advice_may_resume INTEGER NOT NULL DEFAULT 0 CHECK (advice_may_resume IN (0, 1));
ALTER TABLE schedule ADD COLUMN refused_advice TEXT NOT NULL DEFAULT '';
ALTER TABLE rule_state ADD COLUMN refused TEXT NOT NULL DEFAULT '';

-- Older pauses have no known author. They count as a person's, and only a person ends them. The exception are
-- endpoints that a rule of their job may wake: those were put to sleep for that, so advice may resume them.
UPDATE schedule SET pause_author = 'user' WHERE paused_until IS NOT NULL;
UPDATE schedule SET advice_may_resume = 1 WHERE paused_until IS NOT NULL AND id IN
  (SELECT endpoint.id FROM endpoint JOIN rule ON
      (rule.endpoint_id = endpoint.id AND json_extract(rule.document, '$.target') IS NULL)
      OR (rule.tenant_id = endpoint.tenant_id AND json_extract(rule.document, '$.target') = endpoint.name)
      OR (rule.job_id = endpoint.job_id AND json_extract(rule.document, '$.target') IS NULL)
    WHERE json_extract(rule.document, '$.resume') = 1);
