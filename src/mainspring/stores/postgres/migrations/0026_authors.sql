-- Who set a pause, whether its author lets advice end it, and the newest advice that an endpoint refused.
ALTER TABLE schedule ADD COLUMN pause_author text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE schedule ADD COLUMN advice_may_resume boolean NOT NULL DEFAULT false;
ALTER TABLE schedule ADD COLUMN refused_advice text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE rule_state ADD COLUMN refused text COLLATE "C" NOT NULL DEFAULT '';

-- Older pauses have no known author. They count as a person's, and only a person ends them. The exception are
-- endpoints that a rule of their job may wake: those were put to sleep for that, so advice may resume them.
UPDATE schedule SET pause_author = 'user' WHERE paused_until IS NOT NULL;
UPDATE schedule SET advice_may_resume = true WHERE paused_until IS NOT NULL AND id IN
  (SELECT endpoint.id FROM endpoint JOIN rule ON
      (rule.endpoint_id = endpoint.id AND rule.document::jsonb ->> 'target' IS NULL)
      OR (rule.tenant_id = endpoint.tenant_id AND rule.document::jsonb ->> 'target' = endpoint.name)
      OR (rule.job_id = endpoint.job_id AND rule.document::jsonb ->> 'target' IS NULL)
    WHERE rule.document::jsonb ->> 'resume' = 'true');
