"""The docs say what the code says: generated pages are current, examples run, names exist."""

import re
import shlex
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path

import pytest
from tools.reference import commands, pages

from mainspring.domain.errors import MainspringError
from mainspring.domain.event import EventType
from mainspring.observe import LOG_EVENTS, METRICS
from mainspring.settings import OURS_BUT_NOT_SETTINGS, PREFIX, Settings
from tests.cli.shell import Shell
from tests.test_architecture import ROOMS

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
WRITTEN = sorted(path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] if path.parent != REFERENCE)
COMMAND_NAMES = [name for name, _ in commands()]
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
DOCUMENT = re.compile(r"^```yaml\n((?:connections|calendars|endpoints|maintenance):.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
NOT_RUN = (
    "backup",
    "restore",
    "move",
    "serve",
    "scheduler",
    "notifier",
    "run show",
    "mcp",
)  # they do not end, or need a run that happened


def by_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("name", pages())
def test_generated_page_is_current(name: str) -> None:
    written = (REFERENCE / name).read_text(encoding="utf-8") if (REFERENCE / name).exists() else ""

    assert written == pages()[name], "run `make docs`"


def test_no_reference_page_is_left_over() -> None:
    assert {path.name for path in REFERENCE.iterdir()} == set(pages())


def test_every_command_option_setting_event_error_log_and_metric_is_documented() -> None:
    said = pages()

    for name, command in commands():
        assert f"\n## {name}\n" in said["cli.md"]
        assert command.help, f"{name} has no help"
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{name} {parameter.name} has no help"
            if parameter.param_type_name == "option" and parameter.name != "help":
                assert f"`{parameter.opts[0]}" in said["cli.md"]
    for name in Settings.model_fields:
        assert f"| `{PREFIX}{name.upper()}` |" in said["settings.md"]
    for event in EventType:
        assert f"| `{event.value}` |" in said["events.md"]
    for error in MainspringError.__subclasses__():
        assert f"`{error.__name__}` | `{error.code}`" in said["errors.md"]
    for log_event in LOG_EVENTS:
        assert f"| `{log_event}` |" in said["observability.md"]
    for _, metric, _, _ in METRICS.values():
        assert f"`{metric}" in said["observability.md"]


def test_every_log_event_of_the_code_is_in_the_table() -> None:
    calls = re.compile(r"\blog(?:ger\(\))?\.(?:debug|info|warning|error|exception)\(\s*\"([^\"]+)\"")
    said = {event for path in (ROOT / "src").rglob("*.py") for event in calls.findall(path.read_text(encoding="utf-8"))}

    assert said - LOG_EVENTS.keys() == set()


@pytest.mark.parametrize("page", WRITTEN, ids=by_name)
def test_page_names_only_settings_that_exist(page: Path) -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} | set(OURS_BUT_NOT_SETTINGS)
    named = set(re.findall(rf"\b{PREFIX}[A-Z_]*[A-Z*]", page.read_text(encoding="utf-8")))

    assert [name for name in named if not any(fnmatch(setting, name) for setting in known)] == []


@pytest.mark.parametrize("page", WRITTEN, ids=by_name)
def test_page_links_to_files_that_exist(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", WRITTEN, ids=by_name)
def test_page_links_to_headings_that_exist(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s:]*)#([^)]+)\)", page.read_text(encoding="utf-8"))

    assert [
        f"{file}#{heading}"
        for file, heading in links
        if heading not in anchors_of((page.parent / file if file else page).read_text(encoding="utf-8"))
    ] == []


def anchors_of(text: str) -> set[str]:
    """The anchors of a page's headings, as renderers make them: lower case, no punctuation, hyphens for spaces."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def test_architecture_page_lists_every_package() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## Packages")[2].partition("\n## ")[0]

    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(ROOMS)


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_files_named_for_contributors_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    folders = "api|cli|documents|domain|mcp|operations|outbound|ports|stores|views|wiring|workers|workflow"
    whole = set(re.findall(r"\b(?:src|tests|web/src|tools)/[\w./]*\w", text))
    short = set(re.findall(rf"(?<![\w/.])(?:{folders})/[\w/]+\.py\b", text))

    assert [path for path in sorted(whole) if not (ROOT / path).exists()] == []
    assert [path for path in sorted(short) if not (ROOT / "src/mainspring" / path).exists()] == []


@pytest.mark.parametrize("page", WRITTEN, ids=by_name)
def test_examples_of_page_run(page: Path, tmp_path: Path) -> None:
    """Every `mainspring ...` line of a shell block, in order, in one installation that has an endpoint `health`."""
    shell = Shell({"MAINSPRING_DATA_DIR": str(tmp_path)})
    examples = list(examples_of(page.read_text(encoding="utf-8")))
    if not any(arguments[:3] == ["endpoint", "add", "health"] for arguments, _ in examples):
        shell.add("health")

    for arguments, stdin in examples:
        name = next(
            (each for each in COMMAND_NAMES if f"mainspring {' '.join(arguments)} ".startswith(each + " ")), None
        )
        assert name is not None, f"no such command: mainspring {' '.join(arguments)}"
        if not name.removeprefix("mainspring ").startswith(NOT_RUN):
            result = shell(*arguments, stdin=stdin)
            # No scheduler runs here: where the machine is slow, doctor rightly finds that an endpoint has become due.
            is_diagnosis = (
                arguments == ["doctor"] and result.exit_code == 1 and "no scheduler is running" in result.output
            )
            assert result.exit_code == 0 or is_diagnosis, f"mainspring {' '.join(arguments)}\n{result.output}"


@pytest.mark.parametrize(
    "page",
    [page for page in WRITTEN if page.name != "configuration.md" and DOCUMENT.search(page.read_text(encoding="utf-8"))],
    ids=by_name,
)
def test_documents_of_page_apply(page: Path, tmp_path: Path) -> None:
    """Those of configuration.md are tested with their environment in tests/documents/test_docs.py."""
    commands = "/usr/local/bin/* = *, folder /srv/backup, env BACKUP_*; /usr/bin/docker = *"
    secrets = dict.fromkeys(("BACKUP_KEY", "BILLING_KEY", "MQ_PASSWORD"), "s3cret")
    shell = Shell({"MAINSPRING_DATA_DIR": str(tmp_path), "MAINSPRING_COMMANDS": commands, **secrets})

    for document in DOCUMENT.findall(page.read_text(encoding="utf-8")):
        result = shell("apply", "-", stdin=document)
        assert result.exit_code == 0, f"{document}\n{result.output}"


def examples_of(text: str) -> list[tuple[list[str], str | None]]:
    """Arguments and standard input of each example; `echo '...' | mainspring ...` is one with input."""
    found: list[tuple[list[str], str | None]] = []
    for block in SHELL_BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if "mainspring" not in words:
                continue
            start = words.index("mainspring")
            stdin = words[1] + "\n" if words[0] == "echo" else None
            found.append((words[start + 1 :], stdin))
    return found


def test_examples_are_found_with_their_input() -> None:
    text = "```sh\necho '{}' | mainspring explain # what if\nA=1 mainspring endpoint \\\n  list\nls\n```\n"

    assert examples_of(text) == [(["explain"], "{}\n"), (["endpoint", "list"], None)]
