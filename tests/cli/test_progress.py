"""A bar is shown for long work on a terminal, on standard error, and nowhere else."""

import io
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from mainspring.cli.progress import progress, size_of
from tests.cli.shell import Shell
from tests.harness.postgres import find_binaries
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


def test_bar_is_shown_after_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal("apply")
    with progress("apply", stream=screen):
        assert not screen.seen.wait(1.5)
        assert screen.seen.wait(30)


def test_nothing_is_shown_in_a_pipe() -> None:
    stream = io.StringIO()
    with progress("apply", stream=stream, after_s=0) as count:
        count.advance()

    assert stream.getvalue() == ""


def test_long_simulation_shows_a_bar_on_a_terminal(processes: Processes) -> None:
    command = [*COMMAND, "simulate", "flash-sale", "--seeds", "10000"]
    process = processes.start_command([*IN_A_TERMINAL, *command], env={"TERM": "xterm", "COLUMNS": "80"})

    process.wait_for(lambda line: "simulate" in line and "%" in line)


LONG = {
    "backup": ("backup", "{folder}/copy"),
    "apply": ("apply", "{folder}/a.yaml"),
    "diff": ("diff", "{folder}/a.yaml"),
    "apply of a crontab": ("import", "crontab", "{folder}/crontab", "--apply"),
    "backtest": ("backtest", "billing", "--every", "1m"),
    "verify of the audit trail": ("audit", "verify"),
    "verify of an execution": ("execution", "verify", "exe_1"),
    "verify of partitions": ("partition", "verify"),
    "verify of a file": ("execution", "verify", "{folder}/bundle.json"),
}


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A terminal, and a database that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield {
            "TERM": "xterm",
            "COLUMNS": "80",
            "MAINSPRING_DATA_DIR": str(tmp_path),
            "MAINSPRING_DATABASE_URL": f"postgresql://ann@127.0.0.1:{listener.getsockname()[1]}/mainspring",
        }


@pytest.mark.parametrize("what", LONG)
def test_command_that_takes_long_shows_a_bar_on_a_terminal(
    processes: Processes, silent: dict[str, str], tmp_path: Path, what: str
) -> None:
    (tmp_path / "a.yaml").write_text("endpoints: {a: {url: 'https://example.com/', every: 1m}}")
    (tmp_path / "crontab").write_text("* * * * * curl https://example.com/\n")
    os.mkfifo(tmp_path / "bundle.json")  # nobody writes to it
    command = [*COMMAND, *(each.format(folder=tmp_path) for each in LONG[what])]
    process = processes.start_command([*IN_A_TERMINAL, *command], env=silent)

    process.wait_for(lambda line: what.partition(" ")[0] in line and "0:00:0" in line)


def test_restore_that_takes_long_shows_a_bar_on_a_terminal(
    processes: Processes, silent: dict[str, str], tmp_path: Path, postgres_url: str
) -> None:
    tools = {"PATH": f"{find_binaries()}:{os.environ['PATH']}"}  # as new as the server
    shell = Shell({"MAINSPRING_DATA_DIR": str(tmp_path), "MAINSPRING_DATABASE_URL": postgres_url, **tools})
    shell.ok("backup", str(tmp_path / "copy"))
    command = [*IN_A_TERMINAL, *COMMAND, "restore", str(tmp_path / "copy")]
    process = processes.start_command(command, env=silent | tools)

    process.wait_for(lambda line: "restore" in line and "0:00:0" in line)
