-- Named sets of days. config: JSON; found: JSON, the days of its holidays and events up to the end of a year.
CREATE TABLE calendar (
    id          text COLLATE "C" PRIMARY KEY,
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenant (id),
    name        text COLLATE "C" NOT NULL,
    config      text COLLATE "C" NOT NULL,
    found       text COLLATE "C" NOT NULL,
    found_until bigint NOT NULL,
    version     bigint NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    managed_by  text COLLATE "C" NOT NULL DEFAULT '',  -- the configuration source that describes it; '': none
    UNIQUE (tenant_id, name)
);

-- The calendars of an endpoint by name, and the days that they allow, so that no run reads a calendar.
ALTER TABLE endpoint
    ADD COLUMN except_calendar text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN only_calendar text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN shift text COLLATE "C" NOT NULL DEFAULT 'skip',
    ADD COLUMN days text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX endpoint_by_calendar ON endpoint (tenant_id) WHERE days <> '';
