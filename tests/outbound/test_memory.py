"""Promise R14: no response can take more than the configured memory, and nothing accumulates over many."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hostile_port() -> Iterator[int]:
    command = [sys.executable, "-m", "tests.peers.hostile", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.kill()


def test_every_hostile_answer_at_once_leaves_memory_flat(hostile_port: int, long_run: bool) -> None:
    rounds = 20 if long_run else 3
    command = [sys.executable, "-m", "tests.outbound.memory_probe", str(hostile_port), str(rounds)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}

    run = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, env=environment)
    report = json.loads(run.stdout)

    assert run.stderr == b""
    assert report["first_mb"] - report["before_mb"] < 150, report
    assert report["last_mb"] - report["first_mb"] < 30, report
    assert report["endings"].keys() >= {
        "success",
        "deadline",
        "protocol",
        "headers_too_large",
        "connect",
        "http_status",
    }
