"""An SQLite file that is deleted or replaced under `serve`: the process ends instead of writing where none can read."""

import os
from pathlib import Path

import pytest

from mainspring.domain.errors import StoreUnavailable
from mainspring.ports.stores import Stores
from tests.faults.test_readiness import serve, wait_for_status
from tests.harness.processes import Processes
from tests.stores.databases import file_of
from tests.stores.world import add, an_endpoint


@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_serve_ends_with_78_and_says_why_when_its_file_is_gone(
    change: str, processes: Processes, tmp_path: Path
) -> None:
    server, url = serve(processes, tmp_path)
    wait_for_status(url, 200)
    file = tmp_path / "mainspring.db"
    if change == "replaced":
        (tmp_path / "other.db").write_bytes(file.read_bytes())
        os.replace(tmp_path / "other.db", file)
    else:
        file.unlink()

    assert server.wait() == 78
    what = "replaced by another file" if change == "replaced" else "deleted"
    assert f"error: the database file {file} was {what} while this process used it" in server.output
    assert "database lost" in server.output


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
async def test_nothing_is_written_to_a_file_that_is_gone(stores: Stores, store_url: str) -> None:
    await add(stores, an_endpoint())
    file_of(store_url).unlink()

    with pytest.raises(StoreUnavailable, match="was deleted while this process used it"):
        await stores.presence.beat("worker-1", {"scheduler": 1})
