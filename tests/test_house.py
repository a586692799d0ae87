"""What the repository promises about itself: pinned dependencies, no code at start-up, the Makefile's targets."""

import os
import re
import site
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LOCKS = ("runtime", "test", "bench")
TARGETS = "help setup run test quick check bench faults coverage web screenshots docs lock clean".split()
README_LINES_MAX = 60

# A .pth line that starts with `import` runs in every Python process of the environment: a hijacked release of a package
# needs no more than that. Each of these was read, and is here for a reason; anything else fails the build.
KNOWN_PTH = {
    "distutils-precedence.pth": "setuptools, which `python -m venv` puts into every environment up to Python 3.11",
    "a1_coverage.pth": "coverage; starts measuring only if COVERAGE_PROCESS_START or _CONFIG is set",
    "_virtualenv.pth": "virtualenv and uv write it into environments they make",
}

PIN = re.compile(r"[a-z0-9][a-z0-9.\-]*(\[[a-z0-9,\-]+\])?==[^\s;]+( ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")


def lock_lines(lock: str) -> list[str]:
    return (ROOT / "requirements" / f"{lock}.txt").read_text().splitlines()


def pins_of(lock: str) -> dict[str, str]:
    """Package -> version with its marker."""
    pins = (line.rstrip(" \\").partition("==") for line in lock_lines(lock) if not line.startswith(" "))
    return {name: version for name, _, version in pins}


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_holds_hashed_pins_and_nothing_else(lock: str) -> None:
    strange = [line for line in lock_lines(lock) if not PIN.fullmatch(line) and not HASH.fullmatch(line)]

    assert strange == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_a_hash(lock: str) -> None:
    lines = lock_lines(lock)
    bare = [
        line
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
        if PIN.fullmatch(line) and not HASH.fullmatch(following)
    ]

    assert bare == []


@pytest.mark.parametrize("lock", [path.name for path in sorted((ROOT / "requirements").iterdir())])
def test_requirements_name_no_registry(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text()

    assert re.findall(r"\w+://|--(?:extra-)?index|--find-links|--trusted-host", text) == []


@pytest.mark.parametrize(("small", "large"), [("runtime", "test"), ("test", "bench")])
def test_larger_lock_contains_the_smaller(small: str, large: str) -> None:
    assert pins_of(small).items() <= pins_of(large).items()


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {
        re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace(".", "-") for requirement in project["dependencies"]
    }

    assert wanted - pins_of("runtime").keys() == set()


@pytest.mark.parametrize("lock", LOCKS)
def test_locked_versions_satisfy_the_bounds_of_the_project(lock: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    pins = {re.sub(r"\[.*\]", "", name): version.partition(" ;")[0] for name, version in pins_of(lock).items()}
    wanted = [Requirement(each) for each in [*project["dependencies"], *extras]]

    assert [str(each) for each in wanted if each.name in pins and pins[each.name] not in each.specifier] == []


@pytest.mark.skipif(Path(sys.prefix) != ROOT / ".venv", reason="only the environment the Makefile made is locked")
def test_environment_is_what_the_lock_says() -> None:
    locked = {name: version.partition(" ;")[0] for name, version in pins_of("bench").items()}
    installed = {re.sub(r"[._-]+", "-", found.name).lower(): found.version for found in metadata.distributions()}
    different = {
        name: (installed[name], locked[name]) for name in installed.keys() & locked if installed[name] != locked[name]
    }
    unknown = installed.keys() - locked.keys() - {"mainspring", "pip", "setuptools"}

    assert (different, unknown) == ({}, set())


def test_no_installed_package_runs_code_when_python_starts() -> None:
    folders = {Path(folder) for folder in site.getsitepackages()}
    found = {path for folder in folders for path in folder.glob("*.pth")}
    shipped = {
        Path(str(file.locate()))
        for package in metadata.distributions()
        for file in package.files or []
        if file.suffix == ".pth"
    }
    running = {path.name for path in found | shipped if path.exists() and runs_code(path)}

    assert running - KNOWN_PTH.keys() == set()


def runs_code(pth: Path) -> bool:
    return any(line.startswith(("import ", "import\t")) for line in pth.read_text(errors="replace").splitlines())


def test_pth_that_imports_is_told_from_one_that_adds_a_path(tmp_path: Path) -> None:
    (tmp_path / "evil.pth").write_text("import os; os.system('true')\n")
    (tmp_path / "editable.pth").write_text("/somewhere/src\n")

    assert runs_code(tmp_path / "evil.pth")
    assert not runs_code(tmp_path / "editable.pth")


def test_makefile_has_its_targets_and_explains_each() -> None:
    environment = {"PATH": os.environ["PATH"]}  # not that of the `make test` around us: its flags would be inherited
    said = subprocess.run(["make"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout

    assert [target for target in TARGETS if not re.search(rf"^  make {target} +\w", said, re.MULTILINE)] == []


def test_ci_runs_make_test_and_nothing_else() -> None:
    _, *lines = (ROOT / ".ci" / "run").read_text().splitlines()

    assert lines == ["set -euo pipefail", 'exec make -C "$(dirname "$0")/.." test']


def test_public_ci_runs_make_test_and_names_no_registry() -> None:
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text()

    assert re.findall(r"- run: (.*)", text) == ["make test"]
    assert "://" not in text


@pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="there is no README yet")
def test_readme_fits_one_screen() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES_MAX
