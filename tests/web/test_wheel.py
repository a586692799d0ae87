"""The wheel, as somebody installs it on a machine without Node: it has the UI and the scenarios, and the demo runs."""

import os
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

from mainspring.api.frontend import BUILT
from tests.harness.processes import Processes

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not (BUILT / "index.html").exists(), reason="the web UI is not built; build it: make web"
)


def test_wheel_has_the_ui_inside_and_shows_the_demo_without_node(processes: Processes, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    environment = {**os.environ, "SKIP_WEB_BUILD": "1"}  # what was built for these tests goes in
    ended = subprocess.run(build, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (wheel,) = tmp_path.glob("*.whl")
    place = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(place)
    folder = tmp_path / "temporary"
    folder.mkdir()
    env = {"PYTHONPATH": str(place), "PATH": str(folder), "TMPDIR": str(folder)}

    demo = processes.start("demo", env=env)
    url = demo.wait_for("Open http").strip().removeprefix("Open ")
    with urllib.request.urlopen(url, timeout=60) as answer:
        page = answer.read().decode()

    assert 'id="root"' in page
    assert {each.name for each in (place / "mainspring" / "web" / "assets").iterdir()} >= {
        each.name for each in (BUILT / "assets").iterdir()
    }
    assert demo.terminate() == 0
