"""Migrations: at start, once, under a lock, and never backwards. And the query files they serve."""

import asyncio
import re
from pathlib import Path

import pytest
from tests.stores.databases import file_of, is_sqlite, query
from tests.stores.world import FixedClock

import mainspring.stores
from mainspring.domain.errors import Misconfigured
from mainspring.ports.stores import Stores
from mainspring.stores.postgres.queries import QUERIES as POSTGRES_QUERIES
from mainspring.stores.queries import migrations, numbered
from mainspring.stores.sqlite.connection import QUERIES as SQLITE_QUERIES
from mainspring.stores.sqlite.connection import SqliteConnection
from mainspring.wiring.stores import open_stores

STORES = Path(mainspring.stores.__path__[0])


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/empty.db"
    return str(request.getfixturevalue("postgres_empty_url"))


async def applied(url: str) -> list[object]:
    return [row[0] for row in await query(url, "SELECT number FROM schema_migration ORDER BY number")]


def newest(url: str) -> int:
    package = "mainspring.stores.sqlite" if is_sqlite(url) else "mainspring.stores.postgres"
    return migrations(package)[-1][0]


async def test_fresh_database_gets_every_migration_once_also_when_opened_again(empty_url: str) -> None:
    for _ in range(2):
        async with open_stores(empty_url, clock=FixedClock()):
            pass

    assert await applied(empty_url) == list(range(1, newest(empty_url) + 1))


async def test_two_that_start_at_once_both_succeed(empty_url: str) -> None:
    async def start() -> None:
        async with open_stores(empty_url, clock=FixedClock()):
            pass

    await asyncio.gather(start(), start(), start())

    assert await applied(empty_url) == list(range(1, newest(empty_url) + 1))


async def test_schema_newer_than_the_program_is_refused_with_the_way_out(empty_url: str) -> None:
    async with open_stores(empty_url, clock=FixedClock()):
        pass
    value = "0" if is_sqlite(empty_url) else "'2025-01-01'"
    await query(empty_url, f"INSERT INTO schema_migration (number, name, applied_at) VALUES (999, 'later', {value})")

    with pytest.raises(Misconfigured, match="has schema 999, newer than this program knows; run the newer version"):
        async with open_stores(empty_url, clock=FixedClock()):
            pass


async def test_sqlite_file_has_the_promised_safety(tmp_path: Path) -> None:
    async with open_stores(f"sqlite://{tmp_path}/safe.db", clock=FixedClock()):
        connection = SqliteConnection(str(file_of(f"sqlite://{tmp_path}/safe.db")))
        names = ("journal_mode", "synchronous", "foreign_keys")
        pragmas = {name: connection._db.pragma(name) for name in names}  # what our own connections are set to
        connection.close()

    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


async def test_both_databases_have_the_same_tables_and_columns(stores: Stores, store_url: str) -> None:
    if is_sqlite(store_url):
        found = await query(
            store_url,
            "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_xinfo(m.name) c "
            "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'",
        )
    else:
        found = await query(
            store_url,
            "SELECT relname, attname FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid WHERE attnum > 0 "
            "AND NOT attisdropped AND relkind IN ('r', 'p') AND NOT relispartition "
            "AND relnamespace = 'public'::regnamespace",
        )

    tables = {str(table) for table, _ in found}
    columns = {f"{table}.{column}" for table, column in found} - {"schedule.lot"}  # SQLite has rowids
    assert tables >= {"endpoint", "schedule", "run", "event", "job", "tenant", "usage", "worker", "signing_key"}
    assert columns == EXPECTED_COLUMNS


def columns_of(migration: str) -> set[str]:
    """`table.column` of every CREATE TABLE and ADD COLUMN, read from the text of the SQLite migration."""
    found = set()
    for table, body in re.findall(r"CREATE TABLE (\w+) \(\n(.*?)\n\)[A-Z, ]*;", migration, re.DOTALL):
        names = re.findall(r"^    ([a-z_]+)\s+(?:TEXT|INTEGER|BLOB)", body, re.MULTILINE)
        found |= {f"{table}.{name}" for name in names}
    added = re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", migration)
    return found | {f"{table}.{name}" for table, name in added}


EXPECTED_COLUMNS = {column for _, _, text in migrations("mainspring.stores.sqlite") for column in columns_of(text)} | {
    "schema_migration.number",
    "schema_migration.name",
    "schema_migration.applied_at",
}


@pytest.mark.parametrize(("folder", "queries"), [("sqlite", SQLITE_QUERIES), ("postgres", POSTGRES_QUERIES)])
def test_every_query_is_used_and_no_fragment_is_left_open(folder: str, queries: dict[str, str]) -> None:
    code = "\n".join(path.read_text() for path in (*STORES.glob("*.py"), *(STORES / folder).glob("*.py")))
    unused = [name for name in queries if f'"{name}"' not in code]

    assert unused == []
    assert [name for name, sql in queries.items() if "{{" in sql] == []


def test_parameters_are_numbered_by_first_appearance_and_casts_are_left_alone() -> None:
    assert numbered("SELECT :b::text, :a, :b", "$") == "SELECT $1::text, $2, $1"
    assert numbered("SELECT :b::text, :a, :b", "?", ["a", "b"]) == "SELECT ?2::text, ?1, ?2"


async def test_no_column_is_sorted_by_the_language_of_its_database(postgres_empty_url: str) -> None:
    async with open_stores(postgres_empty_url, clock=FixedClock()):
        pass
    by_language = (
        "SELECT relname, attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid "
        "WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i') AND attnum > 0 "
        "AND attcollation NOT IN (0, '\"C\"'::regcollation)"
    )

    assert await query(postgres_empty_url, by_language) == []
