"""Kinds that other packages add: the example in the docs passes its test, and is used when it is installed."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.kinds.installed import misfit
from mainspring.domain.kinds.registry import BUILT_IN
from mainspring.domain.kinds.tcp import TcpAction
from mainspring.domain.run import RunStatus
from mainspring.kinds import Action, CallTools, Dialer, Kind, KindCheck, Request, check_kind, facts_of
from mainspring.outbound.vault import AesVault
from tests.outbound.conftest import LOOPBACK, NOW, SLOT_AT
from tests.peers.talker import Talker, hang, pong

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "smtp_kind"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    return import_module("mainspring_smtp")


def check_for(action: Action, vault: AesVault) -> KindCheck:
    request = Request("tn_1", "ep_1", "slot", SLOT_AT, 1, action)
    return KindCheck(request, CallTools(Dialer(LOOPBACK, clock=lambda: NOW), vault))


async def test_example_keeps_every_promise(example: Any, vault: AesVault) -> None:
    async def greet(reader: Any, writer: Any) -> None:
        writer.write(b"220 mail.example.com ready\r\n")
        await reader.read()

    async with Talker(greet) as peer:
        action = example.SmtpAction("127.0.0.1", peer.port, condition="body.code == 220")
        outcome = await check_kind(example.SmtpPlugin(), action, check_for(action, vault))

    assert outcome.status is RunStatus.SUCCESS, outcome.error
    assert facts_of(outcome) == {"code": 220, "greeting": "mail.example.com ready"}


async def test_example_with_hostile_peers_fails_within_its_deadline(example: Any, vault: AesVault) -> None:
    async with Talker(hang) as silent, Talker(pong) as other:
        codes = []
        for port in (silent.port, other.port):
            action = example.SmtpAction("127.0.0.1", port, timeout_ms=300)
            codes.append((await check_kind(example.SmtpPlugin(), action, check_for(action, vault))).error_code)

    assert codes == ["deadline", "unexpected"]


class Untagged(Action, frozen=True):
    host: str


@pytest.mark.parametrize(
    ("name", "action", "words"),
    [
        ("x", Untagged, "its action has another mark than its name"),
        ("tcp", TcpAction, "the name 'tcp' is taken"),
        ("x", dict, "its action is not a struct of Action"),
    ],
)
def test_kind_that_does_not_fit_is_told_why(name: str, action: Any, words: str) -> None:
    class Misfit(Kind[Any]):
        about = "Does not fit."

    kind = Misfit()
    kind.name, kind.action = name, action  # type: ignore[misc]  # made from the table

    assert words in misfit(kind, BUILT_IN)


def test_installed_kind_works_on_the_command_line_and_a_broken_one_is_left_out(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name, entry in (("smtp", "mainspring_smtp:SmtpPlugin"), ("broken", "no_such_module:Plugin")):
        info = site / f"mainspring_{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mainspring-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[mainspring.kinds]\n{name} = {entry}\n")
    env = os.environ | {
        "PYTHONPATH": f"{site}{os.pathsep}{EXAMPLE}",
        "MAINSPRING_DATA_DIR": str(tmp_path / "data"),
    }

    def run(*arguments: str) -> Any:
        command = [sys.executable, "-m", "mainspring", *arguments, "-o", "json"]
        ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
        assert ran.stdout, ran.stderr
        return json.loads(ran.stdout)

    added = run("endpoint", "add", "mail", "--kind", "smtp", "--host", "mail.example.com", "--every", "5m")
    kinds = [each["name"] for each in run("endpoint", "kinds")]
    found = [each["message"] for each in run("doctor") if each["check"] == "kinds"]

    assert (added["kind"], added["target"], added["port"]) == ("smtp", "smtp mail.example.com:25", 25)
    assert kinds[-1] == "smtp"
    assert [each.partition(" was left out")[0] for each in found] == [
        "kind 'broken' (no_such_module:Plugin)",
        "installed packages add smtp",
    ]
