"""A bar is shown for long work on a terminal, on standard error, and nowhere else."""

import io
from pathlib import Path
from threading import Event

import pytest

from mainspring.cli.progress import progress, size_of
from tests.harness.processes import COMMAND, IN_A_TERMINAL, Processes


class Terminal(io.StringIO):
    """A screen that tells when a text appears on it."""

    def __init__(self, wanted: str) -> None:
        super().__init__()
        self.seen = Event()
        self._wanted = wanted

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        written = super().write(text)
        if self._wanted in self.getvalue():
            self.seen.set()
        return written


def test_bar_shows_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal("50%")
    with progress("simulate", 4, stream=screen, after_s=0) as count:
        count.advance()
        count.advance()

        assert screen.seen.wait(30), screen.getvalue()


def test_bar_measures_a_file_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen, file = Terminal("25%"), tmp_path / "growing"
    assert size_of(file)() == 0
    measure = size_of(file)
    with progress("backup", 400, measure, stream=screen, after_s=0):
        file.write_bytes(bytes(100))

        assert screen.seen.wait(30), screen.getvalue()
        file.rename(tmp_path / "named")
        assert measure() == 100


def test_work_that_ends_soon_shows_nothing() -> None:
    screen = Terminal("x")
    with progress("apply", stream=screen, after_s=60):
        pass

    assert screen.getvalue() == ""


def test_nothing_is_shown_in_a_pipe() -> None:
    stream = io.StringIO()
    with progress("apply", stream=stream, after_s=0) as count:
        count.advance()

    assert stream.getvalue() == ""


def test_long_simulation_shows_a_bar_on_a_terminal(processes: Processes) -> None:
    command = [*COMMAND, "simulate", "flash-sale", "--seeds", "10000"]
    process = processes.start_command([*IN_A_TERMINAL, *command], env={"TERM": "xterm", "COLUMNS": "80"})

    process.wait_for(lambda line: "simulate" in line and "%" in line)
