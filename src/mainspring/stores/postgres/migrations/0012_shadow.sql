-- What rules would have done in shadow mode, without going through everything else that happened.
CREATE INDEX event_in_shadow ON event (tenant_id, tx, seq) WHERE strpos(events, '"shadow":true') > 0;
