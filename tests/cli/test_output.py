"""What people see: times in words, tables that fit, and nothing that acts on a terminal."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from mainspring.cli.output import as_json, note, say
from mainspring.cli.settings import masked
from mainspring.cli.table import Column, show_fields, show_table
from mainspring.domain.instant import FOREVER
from mainspring.views.sentences import clock, relative, span_in_words, took, when
from tests.cli.shell import Shell

NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)
HOSTILE = "\x1b[31mred\x1b[0m \x07 \u202eevil\u202c [bold]x[/bold] :boom: \x9b2J"
COLUMNS = (Column("STARTED"), Column("NAME", can_cut=True), Column("JOB", spare=True), Column("ERROR", tail=True))


@pytest.mark.parametrize(
    ("distance", "words"),
    [
        (timedelta(0), "now"),
        (timedelta(milliseconds=850), "in 850ms"),
        (timedelta(seconds=-5), "5s ago"),
        (timedelta(seconds=23, milliseconds=900), "in 23s"),
        (timedelta(minutes=5, seconds=10), "in 5m10s"),
        (timedelta(hours=-3, minutes=-4, seconds=-5), "3h4m ago"),
        (timedelta(days=3, hours=4, minutes=5), "in 3d4h"),
    ],
)
def test_distance_in_at_most_two_units(distance: timedelta, words: str) -> None:
    assert relative(NOW, NOW + distance) == words


def test_instants_are_absolute_and_relative() -> None:
    assert when(NOW, NOW + timedelta(seconds=90)) == "2025-01-01 12:01:30 UTC (in 1m30s)"
    assert clock(NOW + timedelta(milliseconds=7)) == "2025-01-01 12:00:00.007 UTC"
    assert (clock(FOREVER), relative(NOW, FOREVER), when(NOW, FOREVER)) == ("never", "never", "never")
    assert (clock(None), relative(NOW, None), when(NOW, None)) == ("-", "-", "-")


def test_durations_below_a_millisecond_are_not_nothing() -> None:
    assert [took(ms) for ms in (None, 0, 1, 1_500)] == ["-", "<1ms", "1ms", "1.5s"]
    assert span_in_words(timedelta(days=400)) == "400d"


def test_table_in_a_pipe_cuts_nothing_and_has_one_line_a_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    show_table(COLUMNS, [("now", "n" * 300, "job", "e" * 300), ("now", "b", "job", "")], "nothing")

    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["STARTED", "NAME", "JOB", "ERROR"]
    assert first.split() == ["now", "n" * 300, "job", "e" * 300]
    assert second.split() == ["now", "b", "job"]
    assert second == second.rstrip()


def test_table_fits_80_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show_table(COLUMNS, [("5s ago", "n" * 90, "j" * 20, "e" * 90), ("now", "名" * 60, "job", "")], "nothing")

    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert "JOB" not in lines[0], "what can be spared goes first"
    assert lines[1].startswith("5s ago   nnn")
    assert lines[1].endswith("n…")
    assert lines[2].startswith("  eee"), "long text goes below its row"


def test_short_tail_stays_in_its_row(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show_table(COLUMNS, [("now", "health", "default", "HTTP 503")], "nothing")

    assert capsys.readouterr().out.splitlines()[1].split() == ["now", "health", "default", "HTTP", "503"]


def test_empty_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(COLUMNS, [], "No runs yet.")

    assert capsys.readouterr().out == "No runs yet.\n"


def test_long_value_goes_on_below_itself(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    show_fields([("name", "health"), ("description", "word " * 20)])

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "name         health"
    assert lines[1].startswith("description  word word")
    assert lines[2].startswith("             word")
    assert max(map(len, lines)) <= 60


def test_hostile_text_is_spelled_out_in_tables_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(COLUMNS, [("now", HOSTILE, "job", HOSTILE)], "nothing")
    show_fields([("name", HOSTILE)])

    said = capsys.readouterr().out
    assert said.replace("\n", "").isprintable()
    assert "\\x1b[31mred" in said
    assert "\\u202eevil" in said
    assert "[bold]x[/bold] :boom:" in said, "markup is text"


def test_json_is_harmless_and_means_the_same() -> None:
    value = {"text": HOSTILE + "é 日本 \U000e0041 😀", "list": [1, None, True]}

    text = as_json(value)

    assert text.replace("\n", "").isprintable()
    assert "é 日本" in text
    assert json.loads(text) == value


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://user:hunter2@host:5432/name", "postgresql://user:••••@host:5432/name"),
        ("postgres://user:hun:ter2@host/name", "postgres://user:••••@host/name"),
        ("postgresql://user:hun@ter2@host/name", "postgresql://user:••••@host/name"),
        ("postgresql://host/name?user=u&password=hunter2&x=1", "postgresql://host/name?user=u&password=••••&x=1"),
        ("postgresql://user@host/name", "postgresql://user@host/name"),
        ("sqlite:///home/me/data:old/mainspring.db", "sqlite:///home/me/data:old/mainspring.db"),
    ],
)
def test_password_of_a_database_url_is_masked(url: str, shown: str) -> None:
    assert masked(url) == shown


def test_settings_are_all_listed_with_secrets_masked(shell: Shell) -> None:
    shell.env["MAINSPRING_SECRET_KEY"] = "hunter2"
    shell.env["MAINSPRING_DATABASE_URL"] = "postgresql://user:hunter2@host/name"

    rows = {row["name"]: row for row in shell.json("settings")}

    from mainspring.settings import Settings

    assert list(rows) == [f"MAINSPRING_{name.upper()}" for name in Settings.model_fields]
    assert rows["MAINSPRING_SECRET_KEY"]["value"] == "••••"
    assert rows["MAINSPRING_DATABASE_URL"]["value"] == "postgresql://user:••••@host/name"
    assert rows["MAINSPRING_KEEP_RUNS"] == {
        "name": "MAINSPRING_KEEP_RUNS",
        "value": "30d",
        "default": "30d",
        "meaning": "Retention of runs.",
    }
    assert all(row["meaning"].endswith(".") for row in rows.values())
    assert "hunter2" not in shell.ok("settings")


@pytest.mark.parametrize("tell", [say, note])
def test_line_is_written_with_its_end_at_once(tell: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that share a log would otherwise write into each other's lines."""
    writes: list[str] = []
    stream = SimpleNamespace(write=writes.append, flush=lambda: None)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)

    tell("ready")

    assert [each for each in writes if each] in (["ready\n"], ["note: ready\n"])
