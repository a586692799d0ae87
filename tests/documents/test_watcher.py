"""A watched folder: applied at the start and when it changes, told of and left alone when it is broken."""

import os
from pathlib import Path

import pytest

from mainspring.documents.plan import Options
from mainspring.documents.references import local
from mainspring.documents.watcher import FolderWatcher
from mainspring.operations.context import Desk
from mainspring.ports.endpoints import EndpointFilter
from tests.documents.texts import MESSENGERS, SECRETS

ONE = "endpoints:\n  health: {url: 'https://example.com/', every: 30s}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "conf"
    path.mkdir()
    (path / "a.yaml").write_text(ONE)
    return path


def watcher_of(desk: Desk, folder: Path) -> FolderWatcher:
    return FolderWatcher(desk, folder, Options(local(SECRETS), MESSENGERS, prune=True))


async def endpoints(desk: Desk) -> list[tuple[str, int | None, str]]:
    found = await desk.stores.endpoints.endpoints(desk.tenant_id, EndpointFilter())
    return [(each.name, each.interval_ms, each.managed_by) for each in found]


async def refusals(desk: Desk) -> list[object]:
    events = [stored.event for stored in await desk.stores.runs.latest_events(desk.tenant_id, 50)]
    return [event.data["problem"] for event in events if event.type == "configuration.refused"]


async def test_folder_is_applied_at_once_under_its_own_name(desk: Desk, folder: Path) -> None:
    watcher = watcher_of(desk, folder)

    await watcher.run_once()

    assert await endpoints(desk) == [("health", 30_000, "conf")]
    assert await watcher.check() is None


async def test_change_is_applied_once_it_was_quiet_for_a_look(desk: Desk, folder: Path) -> None:
    watcher = watcher_of(desk, folder)
    await watcher.run_once()
    (folder / "a.yaml").write_text(ONE.replace("30s", "10s"))

    assert await watcher.run_once() is None
    report = await watcher.run_once()

    assert report is not None
    assert await endpoints(desk) == [("health", 10_000, "conf")]
    assert await watcher.run_once() is None


async def test_touching_a_file_applies_nothing(desk: Desk, folder: Path) -> None:
    watcher = watcher_of(desk, folder)
    await watcher.run_once()
    os.utime(folder / "a.yaml", (1, 1))

    assert [await watcher.run_once(), await watcher.run_once()] == [None, None]


async def test_broken_file_is_told_once_and_the_last_good_state_stays(desk: Desk, folder: Path) -> None:
    watcher = watcher_of(desk, folder)
    await watcher.run_once()
    (folder / "b.yaml").write_text("endpoints:\n  x: {url: 'https://example.com/', evry: 1m}\n")

    for _ in range(4):
        await watcher.run_once()

    expected = f"{folder}/b.yaml:2:36: unknown key 'evry', did you mean 'every'?"
    assert await watcher.check() == expected
    assert await refusals(desk) == [expected]
    assert await endpoints(desk) == [("health", 30_000, "conf")]


async def test_mended_file_is_applied(desk: Desk, folder: Path) -> None:
    (folder / "a.yaml").write_text("endpoints: [\n")
    watcher = watcher_of(desk, folder)
    await watcher.run_once()
    assert await watcher.check() is not None
    (folder / "a.yaml").write_text(ONE)

    await watcher.run_once()
    await watcher.run_once()

    assert await watcher.check() is None
    assert await endpoints(desk) == [("health", 30_000, "conf")]


async def test_removed_file_prunes_what_it_described(desk: Desk, folder: Path) -> None:
    (folder / "b.yaml").write_text(ONE.replace("health", "other"))
    watcher = watcher_of(desk, folder)
    await watcher.run_once()
    (folder / "b.yaml").unlink()

    await watcher.run_once()
    await watcher.run_once()

    assert await endpoints(desk) == [("health", 30_000, "conf")]


async def test_empty_or_missing_folder_archives_nothing(desk: Desk, folder: Path) -> None:
    watcher = watcher_of(desk, folder)
    await watcher.run_once()
    (folder / "a.yaml").unlink()
    for _ in range(3):
        await watcher.run_once()
    assert await watcher.check() == f"{folder} has no documents; the last applied state remains"
    os.rmdir(folder)

    await watcher.run_once()

    assert await watcher.check() == f"cannot read {folder}: No such file or directory"
    assert await endpoints(desk) == [("health", 30_000, "conf")]


async def test_folder_that_comes_back_as_it_was_is_well_again(desk: Desk, folder: Path) -> None:
    watcher = watcher_of(desk, folder)
    await watcher.run_once()
    (folder / "a.yaml").rename(folder.parent / "a.yaml")
    await watcher.run_once()
    await watcher.run_once()
    (folder.parent / "a.yaml").rename(folder / "a.yaml")

    await watcher.run_once()
    await watcher.run_once()

    assert await watcher.check() is None
