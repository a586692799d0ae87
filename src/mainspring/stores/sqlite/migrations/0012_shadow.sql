-- What rules would have done in shadow mode, without going through everything else that happened.
CREATE INDEX event_in_shadow ON event (tenant_id, seq) WHERE instr(events, '"shadow":true') > 0;
