"""The peers themselves, as the processes other tests start."""

import subprocess
import sys
import urllib.request
from collections import Counter
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.peers.journal import ROOT, Entry, Journal


def get(url: str, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


def test_the_hostile_peer_serves_as_a_process() -> None:
    command = [sys.executable, "-m", "tests.peers.hostile", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        status, listing = get(f"http://127.0.0.1:{port}/")
        process.kill()

    assert status == 200
    assert {b"/ok", b"/endless", b"/redirect/loop"} <= set(listing.split(b"\n"))


def test_the_journal_writes_down_what_it_received(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        answers = [
            get(journal.url("/a"), webhook_id="ep_1_5", Mainspring_Attempt="2", Mainspring_Slot="2030-01-01T00:00:00Z"),
            get(journal.url("/b?status=503%20Busy&delay_ms=1")),
        ]
        entries = journal.entries()

    assert answers == [(200, b'{"ok": true}'), (503, b'{"ok": true}')]
    assert [entry._replace(at=0.0) for entry in entries] == [
        Entry("ep_1_5", 2, "2030-01-01T00:00:00Z", "/a", 0.0, 1),
        Entry("", 0, "", "/b?status=503%20Busy&delay_ms=1", 0.0, 1),
    ]


def test_a_line_is_in_the_journal_before_its_answer_is_sent(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        for number in range(50):
            get(journal.url(f"/{number}"))

            assert len(journal.entries()) == number + 1


def test_several_journals_may_share_a_file(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as first, Journal(tmp_path / "journal") as second:
        for number in range(20):
            get(first.url(f"/first/{number}"))
            get(second.url(f"/second/{number}"))

        assert Counter(entry.path.split("/")[1] for entry in first.entries()) == {"first": 20, "second": 20}


def test_a_journal_that_does_not_exist_yet_is_empty(tmp_path: Path) -> None:
    assert Journal(tmp_path / "journal").entries() == []


@pytest.mark.parametrize("body", [b"", b"x", b"x" * 100_000])
def test_the_journal_reads_bodies_of_any_size(body: bytes, tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        request = urllib.request.Request(journal.url("/post"), data=body, method="POST")
        for _ in range(2):
            with urllib.request.urlopen(request, timeout=60) as response:
                response.read()

        assert len(journal.entries()) == 2
