"""Processes under test do as told, and none survives its test, however the test ends."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.harness.processes import Process, Processes, clean_environment

ROOT = Path(__file__).parents[2]
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc, which is Linux's")

COUNTER = """
import itertools, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("draining"), sys.exit(3)))
print("ready")
for number in itertools.count():
    print("tick", number)
    time.sleep(0.01)
"""


def start_counter(processes: Processes) -> Process:
    process = processes.start_command([sys.executable, "-c", COUNTER])
    process.wait_for("ready")
    return process


def test_termination_returns_the_exit_code_and_all_output(processes: Processes) -> None:
    counter = start_counter(processes)

    assert counter.terminate() == 3
    assert counter.lines[0] == "ready"
    assert counter.lines[-1].endswith("draining")  # the signal may come in the middle of a line


def test_kill_leaves_no_time_for_goodbyes(processes: Processes) -> None:
    counter = start_counter(processes)
    counter.kill()

    assert counter.wait() == -signal.SIGKILL
    assert "draining" not in counter.output


@needs_proc
def test_frozen_process_says_nothing_until_thawed(processes: Processes) -> None:
    counter = start_counter(processes)
    counter.wait_for("tick 3")
    counter.freeze()

    assert process_state(counter.pid) == "T"
    said = len(counter.lines)
    counter.thaw()
    counter.wait_for("tick", since=said + 3)


def test_waiting_in_vain_shows_what_was_said(processes: Processes) -> None:
    counter = start_counter(processes)

    with pytest.raises(AssertionError, match=r"did not say 'unicorn' within 0.05 s.*\n(.*\n)*tick"):
        counter.wait_for("unicorn", deadline_s=0.05)


def test_waiting_ends_when_the_process_does(processes: Processes) -> None:
    process = processes.start_command([sys.executable, "-c", "print('only this')"])

    with pytest.raises(AssertionError, match="it ended before saying"):
        process.wait_for("ready")


def test_end_of_the_test_ends_even_a_frozen_process() -> None:
    with Processes() as started:
        counter = start_counter(started)
        counter.freeze()

    assert counter.wait() == -signal.SIGKILL


def test_settings_of_the_developer_do_not_reach_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", "sqlite:///precious.db")
    monkeypatch.setenv("PGHOST", "production.example")

    assert not {"MAINSPRING_DATABASE_URL", "PGHOST"} & clean_environment().keys()


@needs_proc
def test_killed_test_process_leaves_nothing_behind() -> None:
    script = """
        import os, sys
        from tests.harness.postgres import Cluster
        from tests.harness.processes import Processes
        cluster = Cluster()
        cluster.start()
        worker = Processes().start_command([sys.executable, "-c", "import time; print('ready'); time.sleep(600)"])
        worker.wait_for("ready")
        print(cluster.pid, worker.pid, cluster.execute("SHOW data_directory"), flush=True)
        os.kill(os.getpid(), 9)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    # Returns at end of file: when the undertaker, who holds the same stdout, has finished too.
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, timeout=240)

    assert done.returncode == -signal.SIGKILL
    cluster_pid, worker_pid, folder = done.stdout.split()
    assert not is_alive(int(worker_pid))
    assert not is_alive(int(cluster_pid))
    assert not Path(folder).exists()


def process_state(pid: int) -> str:
    """The kernel's letter: T stopped, Z zombie, empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_alive(pid: int) -> bool:
    """A zombie nobody has reaped yet is dead."""
    return process_state(pid) not in {"Z", ""}
