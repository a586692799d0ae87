"""`mainspring secret-key`: which keys there are, their change, and what is refused on the way."""

import asyncio
import json
from base64 import b64encode
from pathlib import Path

import pytest

from mainspring.outbound.vault import key_id
from mainspring.settings import load_settings
from mainspring.wiring.stores import open_stores
from tests.cli.shell import Shell
from tests.harness.processes import Processes
from tests.harness.waiting import until_true

OLD, NEW = b"o" * 32, b"n" * 32
KEY = {key: b64encode(key).decode() for key in (OLD, NEW)}


@pytest.fixture
def keyed(any_shell: Shell) -> Shell:
    """Commands against a database with a secret, whose key is the variable's."""
    any_shell.env["MAINSPRING_SECRET_KEY"] = KEY[OLD]
    any_shell.add("health", "--secret-header", "X-Key: s3cret")
    return any_shell


def test_key_of_a_file_is_changed_and_the_old_one_gone(any_shell: Shell, tmp_path: Path) -> None:
    any_shell.add("health", "--secret-header", "X-Key: s3cret")
    before = any_shell.json("endpoint", "show", "health")
    file = tmp_path / "data" / "secret.key"
    (old,) = file.read_text().split()

    done = json.loads(any_shell.ok("secret-key", "rotate", "--settle", "1ms", "-o", "json"))

    (new,) = file.read_text().split()
    assert new != old
    assert (done["values"], done["unreadable"], len(done["old"])) == (1, 0, 1)
    assert any_shell.json("secret-key", "show") == [{"id": done["id"], "seals": True, "here": True, "values": 1}]
    assert any_shell.json("endpoint", "show", "health") == before
    any_shell.ok("audit", "verify")
    any_shell.ok("audit", "verify", "--installation")
    assert "secret_key.changed" in any_shell.ok("audit", "list", "--installation")


def test_keys_are_shown_by_their_ids_alone(keyed: Shell) -> None:
    shown = keyed.ok("secret-key", "show", MAINSPRING_SECRET_KEY=f"{KEY[NEW]}, {KEY[OLD]}")

    assert [line.split() for line in shown.splitlines()[1:]] == [
        [key_id(NEW), "encrypts", "and", "decrypts", "0"],
        [key_id(OLD), "decrypts", "1"],
    ]
    assert not any(key in shown for key in KEY.values())


def test_keys_of_a_variable_are_changed_step_by_step(keyed: Shell) -> None:
    keyed.env["MAINSPRING_SECRET_KEY"] = f"{KEY[OLD]},{KEY[NEW]}"
    keyed.ok("endpoint", "list")
    keyed.env["MAINSPRING_SECRET_KEY"] = f"{KEY[NEW]},{KEY[OLD]}"
    said = keyed.ok("secret-key", "rotate", "--settle", "1ms")
    keyed.env["MAINSPRING_SECRET_KEY"] = KEY[NEW]
    keyed.ok("audit", "verify")

    assert f"nothing needs key {key_id(OLD)} any more; remove it from MAINSPRING_SECRET_KEY" in said
    assert keyed.json("secret-key", "show") == [{"id": key_id(NEW), "seals": True, "here": True, "values": 1}]


def test_change_with_one_key_in_the_variable_says_what_to_do_first(keyed: Shell) -> None:
    refused = keyed.refused("secret-key", "rotate", code=4)

    assert f"holds one key, {key_id(OLD)}, and a rotation needs two" in refused
    assert "give every process OLD,NEW and restart it, then NEW,OLD, then run this again" in refused


@pytest.mark.parametrize("command", [("endpoint", "list"), ("secret-key", "rotate"), ("secret-key", "show")])
def test_old_key_that_was_taken_away_too_early_is_asked_for(keyed: Shell, command: tuple[str, str]) -> None:
    keyed.env["MAINSPRING_SECRET_KEY"] = KEY[NEW]

    refused = keyed.refused(*command, code=78)

    assert f"encrypted with key {key_id(OLD)}, but this process has key {key_id(NEW)}" in refused


def test_new_key_that_was_taken_away_after_the_change_is_asked_for(keyed: Shell) -> None:
    keyed.env["MAINSPRING_SECRET_KEY"] = f"{KEY[NEW]} {KEY[OLD]}"
    keyed.ok("secret-key", "rotate", "--settle", "1ms")
    keyed.env["MAINSPRING_SECRET_KEY"] = KEY[OLD]

    assert f"encrypted with key {key_id(NEW)}, but this process has key {key_id(OLD)}" in keyed.refused(
        "endpoint", "list", code=78
    )


def test_key_file_that_went_missing_is_not_made_good_by_a_new_key(any_shell: Shell, tmp_path: Path) -> None:
    any_shell.add("health", "--secret-header", "X-Key: s3cret")
    (tmp_path / "data" / "secret.key").unlink()

    assert "the secrets of this database are encrypted with key" in any_shell.refused("secret-key", "rotate", code=78)


async def test_change_is_refused_while_workers_elsewhere_may_not_see_the_file(database: dict[str, str]) -> None:
    shell = Shell(database)
    await asyncio.to_thread(shell.add, "health", "--secret-header", "X-Key: s3cret")
    file = Path(database["MAINSPRING_DATA_DIR"]) / "secret.key"
    before = file.read_text()

    async with open_stores(load_settings(database).url) as stores:
        await stores.presence.appear("elsewhere-7-abcdef")
        await stores.presence.beat("elsewhere-7-abcdef", {"scheduler": 1})
        refused = await asyncio.to_thread(shell.refused, "secret-key", "rotate", code=4)
        assert file.read_text() == before
        shared = await asyncio.to_thread(shell.ok, "secret-key", "rotate", "--shared-file", "--settle", "1ms")

    assert "workers on other machines are alive: elsewhere-7-abcdef" in refused
    assert "values encrypted again: 1" in shared


@pytest.mark.parametrize("kind", ["scheduler", "planner", "notifier"])
async def test_whoever_seals_or_opens_shows_life(kind: str, database: dict[str, str], processes: Processes) -> None:
    """Else it could not be seen, on another machine, that it lacks the new key."""
    processes.start(kind, env=database)
    async with open_stores(load_settings(database).url) as stores:

        async def is_seen() -> bool:
            return kind in [row.kind for row in await stores.presence.alive()]

        await until_true(is_seen, f"the {kind} is seen")


def test_doctor_sees_a_change_that_is_not_finished(keyed: Shell) -> None:
    keyed.env["MAINSPRING_SECRET_KEY"] = f"{KEY[NEW]},{KEY[OLD]}"
    begun = secret_key_line(keyed)
    keyed.ok("secret-key", "rotate", "--settle", "1ms")
    keyed.env["MAINSPRING_SECRET_KEY"] = KEY[NEW]

    assert begun == ("warning", f"MAINSPRING_SECRET_KEY holds 2 keys, {key_id(NEW)} and {key_id(OLD)}")
    assert secret_key_line(keyed) == ("ok", f"MAINSPRING_SECRET_KEY holds key {key_id(NEW)}, the right one")


def test_doctor_counts_what_no_key_opens(keyed: Shell) -> None:
    keyed.env["MAINSPRING_SECRET_KEY"] = f"{KEY[OLD]},{KEY[NEW]}"
    keyed.add("lost", "--secret-header", "X-Key: s3cret", "--every", "1m")
    keyed.env["MAINSPRING_SECRET_KEY"] = f"{KEY[NEW]},{KEY[OLD]}"
    keyed.add("newer", "--secret-header", "X-Key: s3cret", "--every", "1m")
    keyed.env["MAINSPRING_SECRET_KEY"] = KEY[OLD]

    level, said = secret_key_line(keyed)

    assert (level, said) == (
        "error",
        f"1 values are encrypted with key {key_id(NEW)}, which is not in MAINSPRING_SECRET_KEY",
    )


def secret_key_line(shell: Shell) -> tuple[str, str]:
    findings = json.loads(shell("doctor", "-o", "json").stdout)
    (found,) = [each for each in findings if each["check"] == "secret key"]
    return found["level"], found["message"].partition(": a key rotation")[0]
