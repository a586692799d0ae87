"""The files under deploy/ say nothing that is not so: they parse, and their commands and settings exist."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tools.reference import commands

from mainspring.cli.command import EXIT_CODES
from mainspring.settings import PREFIX, Settings

DEPLOY = Path(__file__).parents[1] / "deploy"
FILES = sorted(path for path in DEPLOY.iterdir() if path.is_file())
COMPOSE = sorted(DEPLOY.glob("compose*.yaml"))
NAMES = {name.removeprefix("mainspring ") for name, _ in commands()}


def services(path: Path) -> dict[str, Any]:
    return dict(YAML(typ="safe").load(path)["services"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_settings_that_are_named_exist(path: Path) -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} | {"MAINSPRING_NAME"}

    assert set(re.findall(rf"\b{PREFIX}[A-Z_]+", path.read_text())) - known == set()


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_services_run_commands_that_exist_without_rights(path: Path) -> None:
    ours = [service for service in services(path).values() if "build" in service]

    assert ours
    for service in ours:
        assert " ".join(service["command"]) in NAMES
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()


def test_scale_has_every_role_on_one_database() -> None:
    found = services(DEPLOY / "compose.scale.yaml")

    assert set(found) == {"postgres", "valkey", "web", "scheduler", "planner", "notifier"}


def test_tickers_of_scale_ask_a_service_that_is_there_with_a_library_that_the_image_holds() -> None:
    found = services(DEPLOY / "compose.scale.yaml")
    pins = (DEPLOY.parent / "requirements" / "image.txt").read_text()

    lock = found["scheduler"]["environment"]["MAINSPRING_WORKFLOW_LOCK"]
    assert re.fullmatch(r"redis://(\w+):6379/0", lock)[1] in found  # type: ignore[index]  # it must match
    assert set(found["scheduler"]["depends_on"]) == {"postgres", "valkey"}
    assert re.search(r"^redis==", pins, re.M)
    assert "requirements/image.txt" in (DEPLOY / "Dockerfile").read_text()


def test_image_holds_the_runtime_as_it_is_pinned() -> None:
    pins = {name: (DEPLOY.parent / "requirements" / f"{name}.txt").read_text() for name in ("runtime", "image")}
    lines = {name: set(re.findall(r"^[\w-]+==\S+", text, re.M)) for name, text in pins.items()}

    assert lines["runtime"] <= lines["image"]


def test_dockerfile_copies_what_exists_and_runs_a_command_that_exists() -> None:
    text = (DEPLOY / "Dockerfile").read_text()

    assert (DEPLOY.parent / "requirements" / "image.txt").exists()
    assert re.search(r'^CMD \["(\w+)"\]$', text, re.M)[1] in NAMES  # type: ignore[index]  # it must be there
    assert "\nUSER mainspring\n" in text


def test_unit_runs_a_command_that_exists_and_knows_our_exit_code() -> None:
    text = (DEPLOY / "mainspring.service").read_text()

    assert re.search(r"^ExecStart=\S+/mainspring (\w+)$", text, re.M)[1] in NAMES  # type: ignore[index]  # it must
    assert int(re.search(r"^RestartPreventExitStatus=(\d+)$", text, re.M)[1]) in EXIT_CODES  # type: ignore[index]  # too


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_unit_is_one_that_systemd_understands(tmp_path: Path) -> None:
    unit = tmp_path / "mainspring.service"
    unit.write_text((DEPLOY / "mainspring.service").read_text().replace("/opt/mainspring/bin/mainspring", "/bin/true"))

    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )

    assert "mainspring.service" not in checked.stderr, checked.stderr
