"""PostgreSQL databases that tests hand on: emptied, not made anew, for a copy costs a hundred times as much.

    shelf = Shelf(cluster, "mainspring_template")
    name, url = shelf.take()
    shelf.give_back(name)

Whoever takes one finds it as the template is: no row, no connection, every sequence at its beginning. One whose schema
or settings a test has changed is dropped instead, and so is one that was handed on too often: dead rows.
"""

from itertools import count

from tests.harness.postgres import Cluster

USES_MAX = 100
LOOK = """
SELECT md5(string_agg(part, '|' ORDER BY part)) FROM (
    SELECT format('%s %s %s %s %s', attrelid::regclass, attname, atttypid, attnotnull, atthasdef) AS part
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT format('%s %s %s', relname, relrowsecurity, relforcerowsecurity)
    FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT proname || prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT tgname || tgenabled::text FROM pg_trigger
    UNION ALL SELECT polname FROM pg_policy
    UNION ALL SELECT number::text FROM schema_migration
    UNION ALL SELECT setconfig::text FROM pg_db_role_setting
    WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
) AS parts"""
EMPTY = """
DO $$
DECLARE
    name regclass;
    filled boolean;
BEGIN
    PERFORM pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
    SET LOCAL session_replication_role = replica;  -- no trigger and no foreign key in the way
    FOR name IN SELECT oid FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'schema_migration'
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %s)', name) INTO filled;
        IF filled THEN
            EXECUTE format('DELETE FROM %s', name);
        END IF;
    END LOOP;
    PERFORM setval(oid, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace;
END $$;"""


class Shelf:
    def __init__(self, cluster: Cluster, template: str) -> None:
        self._cluster = cluster
        self._template = template
        self._look = cluster.execute(LOOK, template)
        self._numbers = count(1)
        self._free: list[str] = []
        self._uses: dict[str, int] = {}

    def take(self) -> tuple[str, str]:
        """A database as the template is: its name and its URL."""
        if not self._free:
            name = f"shelved_{next(self._numbers)}"
            self._cluster.create_database(name, template=self._template)
            self._uses[name] = 0
            self._free.append(name)
        name = self._free.pop()
        self._uses[name] += 1
        return name, self._cluster.url(name)

    def give_back(self, name: str) -> None:
        """Empty it for the next one. A test that left the server stopped must not fail its neighbours too."""
        if not self._cluster.is_running:
            self._cluster.start()
        if self._uses[name] < USES_MAX and self._is_emptied(name):
            self._free.append(name)
        else:
            self._cluster.drop_database(name)

    def _is_emptied(self, name: str) -> bool:
        try:
            return self._cluster.execute(f"{EMPTY} {LOOK}", name) == self._look
        except RuntimeError:  # whatever a test has done to it
            return False
