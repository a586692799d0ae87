-- name: put_events_first
-- Another server counts its transactions anew, so what a backup brings would stand behind all that is still to come,
-- and be shown only when that count is reached. Events that are there stand before every transaction, in their order.
UPDATE event SET tx = '{{first_tx}}';

-- name: place_outbox_first
-- Where the notifier goes on, among events that will all stand first.
UPDATE outbox_position SET cursor = {{first_place}} WHERE strpos(cursor, '.') > 0;

-- name: place_triggers_first
-- The same for what starts executions.
UPDATE trigger_position SET cursor = {{first_place}} WHERE strpos(cursor, '.') > 0;

-- name: place_planner_first
-- The same for the planner.
UPDATE planner_cursor SET cursor = {{first_place}} WHERE strpos(cursor, '.') > 0;
