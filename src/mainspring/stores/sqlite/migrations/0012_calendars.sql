-- Named sets of days. config: JSON; found: JSON, the days of its holidays and events up to the end of a year.
CREATE TABLE calendar (
    id          TEXT PRIMARY KEY,
    tenant_id   TEXT NOT NULL REFERENCES tenant (id),
    name        TEXT NOT NULL,
    config      TEXT NOT NULL,
    found       TEXT NOT NULL,
    found_until INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    managed_by  TEXT NOT NULL DEFAULT '',  -- the configuration source that describes it; '': none
    UNIQUE (tenant_id, name)
) STRICT;

-- The calendars of an endpoint by name, and the days that they allow, so that no run reads a calendar.
ALTER TABLE endpoint ADD COLUMN except_calendar TEXT NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN only_calendar TEXT NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN shift TEXT NOT NULL DEFAULT 'skip';
ALTER TABLE endpoint ADD COLUMN days TEXT NOT NULL DEFAULT '';
CREATE INDEX endpoint_by_calendar ON endpoint (tenant_id) WHERE days <> '';
