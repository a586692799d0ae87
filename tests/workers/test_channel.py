"""A channel of another package, found by its entry point, brings letters; what it raises is bounded."""

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from mainspring.plugins import NotSent, OutgoingEmail
from mainspring.ports.workflows import Intent
from mainspring.wiring.workflows import open_channels
from mainspring.workers.effects.channel import ChannelHandler

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "folder_channel"
LETTER: dict[str, object] = {"channel": "folder", "to": "ann", "subject": "Hello", "body": "How was it?", "from": ""}
INTENT = Intent("eff_1", "x1", "default", 0, "ask", 1, 1, "email", LETTER, "at_least_once", 5_000, 1, False)


def install(folder: Path, name: str, value: str) -> None:
    """What an installer leaves behind: the module, and its metadata with the entry point."""
    shutil.copy(EXAMPLE / "mainspring_folder.py", folder)
    metadata = folder / f"{name}_channel-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-channel\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[mainspring.plugins]\n{name} = {value}\n")


async def test_example_package_is_found_and_brings_a_letter_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = (EXAMPLE / "pyproject.toml").read_text().partition("mainspring.plugins")[2].splitlines()[1]
    name, _, value = declared.replace('"', "").partition(" = ")
    install(tmp_path, name, value)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("LETTERS_DIR", str(tmp_path / "letters"))
    errand = open_channels(("smtp",))["folder"]

    first, again = await errand.run(INTENT), await errand.run(replace(INTENT, attempt=2))
    refused = await errand.run(replace(INTENT, request=LETTER | {"to": "a/b"}))

    assert first == again == ("success", {"result": {"file": "eff_1.json"}})
    assert [each.name for each in (tmp_path / "letters" / "ann").iterdir()] == ["eff_1.json"]
    assert refused == ("failure", {"code": "bad_address", "error": "'a/b' is no name of a folder"})


@pytest.mark.parametrize("value", ["nowhere:Nothing", "mainspring_folder:NotSent", "mainspring_folder:json"])
def test_broken_channel_keeps_nobody_from_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    install(tmp_path, "broken", value)
    monkeypatch.syspath_prepend(tmp_path)

    assert "broken" not in open_channels(("smtp",))


def test_channel_cannot_take_the_name_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "smtp", "mainspring_folder:FolderChannel")
    monkeypatch.syspath_prepend(tmp_path)

    assert open_channels(("smtp",)) == {}


class Raising:
    def __init__(self, fault: Exception | None, answer: object = None) -> None:
        self._fault, self._answer = fault, answer

    async def send(self, letter: OutgoingEmail) -> object:
        if self._fault is not None:
            raise self._fault
        return self._answer


@pytest.mark.parametrize(
    ("fault", "idempotency", "outcome", "code"),
    [
        (NotSent("no such number", "404"), "at_most_once", "failure", "404"),
        (ValueError("half way"), "at_least_once", "failure", "channel"),
        (ValueError("half way"), "at_most_once", "unknown", "channel"),
        (TimeoutError(), "at_most_once", "unknown", "timeout"),
    ],
)
async def test_doubt_is_a_failure_at_least_once_and_unknown_at_most_once(
    fault: Exception, idempotency: str, outcome: str, code: str
) -> None:
    ended, data = await ChannelHandler(Raising(fault)).run(replace(INTENT, idempotency=idempotency))

    assert (ended, data["code"]) == (outcome, code)


@pytest.mark.parametrize("answer", [object(), {"$double": "x"}, "x" * 70_000])
async def test_answer_that_no_log_could_keep_is_left_out(answer: object) -> None:
    ended, data = await ChannelHandler(Raising(None, answer)).run(INTENT)

    assert (ended, data["result"]) == ("success", None)
