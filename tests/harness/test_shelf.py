"""A database that is handed on shows nothing of who had it before."""

import asyncpg
import pytest

from tests.harness.database_pool import Shelf
from tests.harness.postgres import Cluster


def test_what_a_test_wrote_is_gone_and_numbers_begin_anew(postgres_cluster: Cluster, postgres_shelf: Shelf) -> None:
    name, _ = postgres_shelf.take()
    tell = "INSERT INTO event (tenant_id, at, events) VALUES ('t', 'epoch', '[]') RETURNING seq"
    first = postgres_cluster.execute(tell, name)

    postgres_shelf.give_back(name)
    again, _ = postgres_shelf.take()

    assert again == name
    assert postgres_cluster.execute("SELECT count(*) FROM event", name) == "0"
    assert postgres_cluster.execute(tell, name) == first
    postgres_shelf.give_back(name)


async def test_whoever_is_still_connected_is_cut_off(postgres_shelf: Shelf) -> None:
    name, url = postgres_shelf.take()
    connection = await asyncpg.connect(url)

    postgres_shelf.give_back(name)

    with pytest.raises((asyncpg.AdminShutdownError, asyncpg.ConnectionDoesNotExistError, asyncpg.InterfaceError)):
        await connection.fetchval("SELECT 1")
    connection.terminate()


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE job ADD COLUMN more text",
        "CREATE TABLE more (id int)",
        "ALTER TABLE job DISABLE TRIGGER ALL",
        "INSERT INTO schema_migration (number, name, applied_at) VALUES (9999, 'of a newer version', 'epoch')",
    ],
)
def test_one_whose_schema_was_changed_is_handed_to_nobody(
    change: str, postgres_cluster: Cluster, postgres_shelf: Shelf
) -> None:
    name, _ = postgres_shelf.take()
    postgres_cluster.execute(change, name)

    postgres_shelf.give_back(name)
    other, _ = postgres_shelf.take()

    assert other != name
    postgres_shelf.give_back(other)
