"""Opening a database: by many at once, again, after a migration that failed, and what cannot be opened at all."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from shutil import copytree
from threading import Barrier

import apsw
import asyncpg
import pytest
from tests.stores.databases import file_of, is_sqlite, query
from tests.stores.world import FixedClock

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.stores.endpoints import SqlEndpointStore
from mainspring.stores.queries import load_queries, migrations, numbered
from mainspring.stores.sqlite.connection import PACKAGE
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.wiring.stores import open_stores

OPENERS = 4


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/empty.db"
    return str(request.getfixturevalue("postgres_empty_url"))


async def open_once(url: str) -> tuple[str, ...]:
    """What this opening migrated."""
    async with open_stores(url, clock=FixedClock()) as stores:
        return (await stores.upkeep.facts()).migrated


async def tables(url: str) -> set[str]:
    where = "sqlite_schema WHERE type = 'table'" if is_sqlite(url) else "pg_tables WHERE schemaname = 'public'"
    found = await query(url, f"SELECT {'name' if is_sqlite(url) else 'tablename'} FROM {where}")
    return {str(name) for (name,) in found} - {"sqlite_sequence"}


def names_of_migrations(url: str) -> tuple[str, ...]:
    package = "mainspring.stores.sqlite" if is_sqlite(url) else "mainspring.stores.postgres"
    return tuple(name for _, name, _ in migrations(package))


async def test_first_opening_migrates_and_the_second_does_nothing(empty_url: str) -> None:
    assert [await open_once(empty_url), await open_once(empty_url)] == [names_of_migrations(empty_url), ()]


async def test_later_migration_is_applied_once_to_a_file_with_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite://{tmp_path}/older.db"
    async with open_stores(url, clock=FixedClock()) as stores:
        await stores.endpoints.put_tenant(Tenant("acme", "Acme"))
    copytree(str(files(PACKAGE).joinpath("migrations")), tmp_path / "later_sqlite" / "migrations")
    (tmp_path / "later_sqlite" / "__init__.py").touch()
    (tmp_path / "later_sqlite" / "migrations" / "9001_column.sql").write_text(
        "ALTER TABLE tenant ADD COLUMN something TEXT NOT NULL DEFAULT 'kept'"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("mainspring.stores.sqlite.database.PACKAGE", "later_sqlite")

    assert [await open_once(url), await open_once(url)] == [("9001_column",), ()]
    assert await query(url, "SELECT name, something FROM tenant") == [("Acme", "kept")]


async def test_file_that_needs_no_migration_is_opened_while_another_writes(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/empty.db"
    await open_once(url)
    other = apsw.Connection(str(file_of(url)))
    other.execute("BEGIN IMMEDIATE")
    try:
        assert await open_once(url) == ()
    finally:
        other.close()


def test_of_many_that_open_at_once_one_migrates_and_all_succeed(empty_url: str) -> None:
    start = Barrier(OPENERS)

    def open_in_a_thread() -> tuple[str, ...]:
        start.wait(60)
        return asyncio.run(open_once(empty_url))

    with ThreadPoolExecutor(OPENERS) as threads:
        opened = [threads.submit(open_in_a_thread) for _ in range(OPENERS)]

    migrated = sorted(each.result() for each in opened)
    assert migrated == [*[()] * (OPENERS - 1), names_of_migrations(empty_url)]


async def test_migration_that_fails_leaves_nothing_behind(empty_url: str) -> None:
    await query(empty_url, "CREATE TABLE worker (mine INTEGER)")

    with pytest.raises((apsw.SQLError, asyncpg.DuplicateTableError), match="worker"):
        await open_once(empty_url)
    assert await tables(empty_url) == {"worker"}


async def test_database_whose_migration_failed_can_be_opened_once_the_cause_is_gone(empty_url: str) -> None:
    await query(empty_url, "CREATE TABLE worker (mine INTEGER)")
    with pytest.raises((apsw.SQLError, asyncpg.DuplicateTableError)):
        await open_once(empty_url)

    await query(empty_url, "DROP TABLE worker")

    assert await open_once(empty_url) == names_of_migrations(empty_url)


async def test_newest_of_several_unknown_schemas_is_named(empty_url: str) -> None:
    await open_once(empty_url)
    at = "0" if is_sqlite(empty_url) else "'2025-01-01'"
    for number in (99, 100):
        await query(
            empty_url, f"INSERT INTO schema_migration (number, name, applied_at) VALUES ({number}, 'later', {at})"
        )

    with pytest.raises(Misconfigured, match="has schema 100, newer than this program knows"):
        await open_once(empty_url)


async def test_file_that_is_no_database_is_refused_with_the_setting_to_change(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/notes.txt"
    file_of(url).write_text("these are notes " * 1_000)

    with pytest.raises(Misconfigured, match="it must be an SQLite file") as refused:
        await open_once(url)
    assert refused.value.setting == "MAINSPRING_DATABASE_URL"
    assert file_of(url).read_text() == "these are notes " * 1_000


async def test_missing_folder_of_a_file_is_made(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/a/b/mainspring.db"

    await open_once(url)

    assert file_of(url).is_file()


async def test_database_that_does_not_exist_is_refused_without_its_password(postgres_empty_url: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        await open_once(f"{postgres_empty_url}_that_is_not_there")
    password = postgres_empty_url.partition("@")[0].rpartition(":")[2]
    assert password not in str(refused.value)
    assert refused.value.setting == "MAINSPRING_DATABASE_URL"


@pytest.mark.parametrize("url", ["mysql://host/db", "plain.db", "sqlite://", "sqlite:///", ""])
async def test_url_of_no_known_kind_is_refused(url: str) -> None:
    with pytest.raises(Misconfigured, match=r"sqlite:///path/to/file\.db"):
        await open_once(url)


@pytest.mark.parametrize("package", ["mainspring.stores.sqlite", "mainspring.stores.postgres"])
def test_loaded_query_is_bare_sql_under_its_name(package: str) -> None:
    queries = load_queries(package, {}, "$")

    assert queries["applied_migrations"] == "SELECT number FROM schema_migration"
    assert [name for name, sql in queries.items() if "--" in sql or sql.endswith(";") or not sql] == []


def test_fragment_stands_where_its_name_is() -> None:
    queries = load_queries("mainspring.stores.sqlite", {"job_columns": "id, name"}, "?")

    assert queries["jobs"] == "SELECT id, name FROM job WHERE tenant_id = ?1 ORDER BY name"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        pytest.param(":a, :b, :a", "$1, $2, $1", id="a name has one number"),
        pytest.param("x::text", "x::text", id="a cast is no parameter"),
        pytest.param(":a::text[]", "$1::text[]", id="a parameter may be cast"),
        pytest.param(":a_b, :a", "$1, $2", id="a name ends where it ends"),
        pytest.param("'{}' || 1", "'{}' || 1", id="text without parameters stays"),
    ],
)
def test_parameters_are_numbered(sql: str, expected: str) -> None:
    assert numbered(sql, "$") == expected


def test_both_databases_have_the_same_migrations() -> None:
    names = [[name for _, name, _ in migrations(f"mainspring.stores.{kind}")] for kind in ("sqlite", "postgres")]

    assert names[0] == names[1]
    assert len({name[:4] for name in names[0]}) == len(names[0])


@pytest.mark.parametrize(
    ("pragma", "way_out"),
    [
        ("query_only = ON", "readonly database; make the file and its folder writable for the user of this process"),
        ("max_page_count = 1", "database or disk is full; free space on its disk"),
    ],
    ids=["read-only", "full"],
)
async def test_file_that_cannot_be_written_is_told_with_what_helps(tmp_path: Path, pragma: str, way_out: str) -> None:
    async with open_stores(f"sqlite://{tmp_path}/some.db", clock=FixedClock()) as stores:
        assert isinstance(stores.endpoints, SqlEndpointStore)
        assert isinstance(stores.endpoints._db, SqliteDatabase)
        stores.endpoints._db._writer.script(f"PRAGMA {pragma}")

        with pytest.raises(StoreUnavailable, match=way_out):
            await stores.endpoints.put_tenant(Tenant("large", "x" * 1_000_000))


async def test_sqlite_file_that_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    """Whatever the umask says, and wherever the file is; its journal too."""
    umask = os.umask(0o022)
    try:
        async with open_stores(f"sqlite://{tmp_path}/sub/any.db", clock=FixedClock()) as stores:
            await stores.endpoints.put_tenant(Tenant("acme", "Acme"))
            modes = {file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "sub").iterdir()}
    finally:
        os.umask(umask)

    assert modes == {"any.db": 0o600, "any.db-wal": 0o600, "any.db-shm": 0o600}
