-- Logs are no longer copied but inserted, so the net under tenancy lies under them too: an entry is there for whom its
-- execution is there.
SELECT guard_table('execution_entry', '(SELECT current_setting(''mainspring.tenant'', true)) = ''*'' OR EXISTS (SELECT FROM execution WHERE id = execution_id)');
