-- The events of one tenant by an index. The second net under tenancy, row-level security, is PostgreSQL's alone.
CREATE INDEX event_by_tenant ON event (tenant_id, seq);
