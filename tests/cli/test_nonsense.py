"""Nonsense gets an answer with a way out: files that are none, numbers beyond all bounds, a terminal that is gone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell({"MAINSPRING_DATA_DIR": str(tmp_path / "data")})


READERS = (
    ("rules", "check"), ("workflow", "check"), ("workflow", "publish"), ("apply",), ("diff",), ("import", "crontab"),
    ("import", "uptime-kuma"), ("import", "healthchecks"), ("import", "kubernetes"),
    ("restore",), ("simulate",),
)  # fmt: skip


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_what_is_no_file_is_named_with_the_way_out(shell: Shell, tmp_path: Path, command: tuple[str, ...]) -> None:
    shell.ok("migrate")
    (tmp_path / "binary").write_bytes(b"\x00\xff\xfe")
    (tmp_path / "empty").write_bytes(b"")

    for name in ("nowhere", "binary", "empty", "."):
        result = shell(*command, str(tmp_path / name))
        assert result.exit_code in ((0, 1, 3, 4, 78) if name == "empty" else (1, 3, 4, 78)), name
        assert "MAINSPRING_DATA_DIR" not in result.output


@pytest.mark.parametrize(
    "command",
    [
        ("audit", "list", "--before", "9" * 30),
        ("events", "-n", "9" * 30),
        ("runs", "-n", "-1"),
        ("workflow", "show", "x", "--version", "9" * 30),
        ("tenant", "set", "--runs-per-month", "9" * 30),
        ("endpoint", "add", "x", "--url", "https://example.com/", "--every", "9" * 30),
        ("endpoint", "add", "x", "--url", "https://example.com/", "--every", "1m", "--body-cap", "9" * 30),
        ("endpoint", "add", "x", "--url", "https://example.com/", "--every", "1m", "--description", "\udcff"),
        ("endpoint", "show", "\udcff"),
        ("execution", "send", "x", "y", "--data", "{}", "--id", "\udcff"),
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_numbers_and_texts_beyond_all_bounds_are_refused(shell: Shell, command: tuple[str, ...]) -> None:
    assert shell(*command).exit_code in (1, 2, 3)


def test_export_of_an_unknown_source_says_so(shell: Shell) -> None:
    result = shell("export", "--source", "nope")

    assert result.stdout == ""
    assert "source 'nope' manages nothing here" in result.stderr


def test_closed_output_and_a_full_disk_are_no_tracebacks(shell: Shell, tmp_path: Path) -> None:
    environment = {**os.environ, "MAINSPRING_DATA_DIR": str(tmp_path)}
    run = [sys.executable, "-m", "mainspring", "settings"]

    closed = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *run], env=environment, capture_output=True, check=False)
    with open("/dev/full", "w") as full:
        unwritten = subprocess.run(run, env=environment, stdout=full, stderr=subprocess.PIPE, check=False)

    assert b"Traceback" not in closed.stderr + unwritten.stderr
    assert unwritten.returncode != 0
