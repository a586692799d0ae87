"""Write docs/reference and the client from the code: `python -m tools.reference` (or `make docs`).

What the code already says is said once: commands, settings, events, errors, logs and metrics are listed here from their
own tables, and tests/test_docs.py fails when a page is not what this would write.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent
from typing import Any

from typer.main import get_command

from mainspring.api.problems import BASE, PROBLEMS
from mainspring.cli.command import EXIT_CODE_OF, EXIT_CODES
from mainspring.cli.main import app
from mainspring.cli.server_support import ANYWHERE, BY_API, HERE
from mainspring.cli.settings import setting_rows
from mainspring.client.table import OPERATIONS
from mainspring.documents.document import json_schema
from mainspring.documents.sections import SECTIONS
from mainspring.domain import errors
from mainspring.domain.event import MEANING
from mainspring.mcp.tools import TOOLS
from mainspring.observe import LOG_EVENTS, METRICS
from mainspring.settings import load_settings
from tools import client_generator

FOLDER = Path("docs/reference")
GENERATED = "<!-- Written by `make docs` from the code; edits are overwritten. -->"
DATA_DIR_IN_WORDS = "the user's data folder, `~/.local/share/mainspring` on Linux"

Command = Any  # Typer keeps the classes of its commands and parameters private


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(folder / name)
    for file, text in client_generator.files().items():
        file.write_text(text, encoding="utf-8")
        print(file)


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {
        "cli.md": _page("Command line", _cli()),
        "mcp.md": _page("MCP tools", _mcp()),
        "settings.md": _page("Settings", _settings()),
        "events.md": _page("Events", _events()),
        "errors.md": _page("Errors", _errors()),
        "problems.md": _page("Problems", _problems()),
        "observability.md": _page("Logs and metrics", _observability()),
        "configuration.md": _page("Configuration documents", _configuration()),
        "configuration.schema.json": json.dumps(json_schema(), indent=2) + "\n",
    }


def commands() -> Iterator[tuple[str, Command]]:
    """Every command that can be run, by its full name, in the order of `--help`."""
    yield from _below("mainspring", get_command(app))


def _below(path: str, command: Command) -> Iterator[tuple[str, Command]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in children.items():
        yield from _below(f"{path} {name}", child)


def _cli() -> Iterator[str]:
    yield "Every command works against the database named by `MAINSPRING_DATABASE_URL`, also while `serve` runs."
    yield "What it changes takes effect within a second."
    yield "A command that only reads creates no database: where there is none, it shows an empty one and says so."
    yield ""
    yield "`mainspring --server URL ...` works through a server instead (or `MAINSPRING_SERVER`)."
    yield "The API key is in `MAINSPRING_API_KEY`."
    yield "The key decides the tenant: `MAINSPRING_TENANT` may name that one, and is refused if it names another."
    yield "Commands then print the same; those that need the machine itself refuse, and say why."
    yield ""
    yield "With `-o json` the answer is one JSON value on standard output: an array for a list, an object for a thing."
    yield "Instants in it are RFC 3339, durations are milliseconds, and secret header values are masked."
    yield 'Errors go to standard error as `error: ...`, with `-o json` as `{"error": {"code", "message", "field"}}`.'
    yield "The code of a command line that makes no sense is `usage`."
    yield "Where a document has several faults, each has a line of its own; in JSON they are a list, `faults`."
    yield ""
    yield "`mainspring --install-completion` sets up completion of commands and options for the shell that runs it"
    yield "(bash, zsh, fish, PowerShell); open a new shell afterwards."
    yield "`mainspring --show-completion` prints the script instead, to install it elsewhere."
    yield ""
    yield "On a terminal, work that takes longer than two seconds shows its progress on standard error."
    yield ""
    yield from _table(("exit code", "meaning"), [(str(code), meaning) for code, meaning in EXIT_CODES.items()])
    for name, command in commands():
        yield ""
        yield f"## {name}"
        yield ""
        yield from _sentences(command.help or "")
        yield ""
        yield "```"
        yield " ".join([name, *_usage(command)])
        yield "```"
        yield from _by_api(name.removeprefix("mainspring "))
        rows = [
            (_spelled(parameter), parameter.help or "")
            for parameter in command.params
            if not getattr(parameter, "hidden", False) and parameter.name != "help"
        ]
        if rows:
            yield ""
            yield from _table(("argument or option", "meaning"), rows)


def _by_api(command: str) -> Iterator[str]:
    """The same with curl, or why the API has no equivalent."""
    operations = {each.id: each for each in OPERATIONS}
    same = [operations[each] for each in BY_API.get(command, ())]
    if same:
        yield ""
        yield "By the API: " + ", ".join(f"`{each.method} {each.path}`" for each in same) + "."
    elif why := HERE.get(command) or ANYWHERE.get(command):
        yield ""
        yield f"On this machine alone: {why}."


def _usage(command: Command) -> Iterator[str]:
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = (parameter.metavar or parameter.name.upper()) + ("..." if parameter.nargs == -1 else "")
            yield name if parameter.required else f"[{name}]"
    required = [each for each in command.params if each.param_type_name == "option" and each.required]
    yield from (f"{parameter.opts[0]} {_value_name(parameter)}" for parameter in required)
    yield "[OPTIONS]"


def _spelled(parameter: Command) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    names = "`, `".join([*parameter.opts, *parameter.secondary_opts])
    value = "" if parameter.is_flag else f" {_value_name(parameter)}"
    default = parameter.default
    shown = f" ({default})" if isinstance(default, int | str) and not isinstance(default, bool) and default else ""
    return f"`{names}{value}`{shown}"


def _value_name(parameter: Command) -> str:
    choices = parameter.type_descriptor.choices
    if choices:
        return "|".join(str(getattr(choice, "value", choice)) for choice in choices)
    return str(parameter.metavar or parameter.name.upper())


def _mcp() -> Iterator[str]:
    yield "The tools of the MCP server, as an assistant sees them; [the guide](../mcp.md) says how to connect one."
    yield "A tool is offered to whoever has its scope."
    for tool in TOOLS.values():
        marks = {"only reads": tool.only_reads, "destroys": tool.destroys, "calls out": tool.calls_out}
        said = [f"scope `{tool.scope.value}`", *(mark for mark, is_set in marks.items() if is_set)]
        schema = tool.schema
        yield ""
        yield f"## {tool.name}"
        yield ""
        yield from _sentences(tool.description)
        yield ""
        yield f"({', '.join(said)})"
        rows = [
            (f"`{name}`" + (" (required)" if name in schema.get("required", ()) else ""), field["description"])
            for name, field in schema.get("properties", {}).items()
        ]
        if rows:
            yield ""
            yield from _table(("argument", "meaning"), rows)


def _settings() -> Iterator[str]:
    yield "Every setting is an environment variable; `mainspring settings` shows the values in use."
    yield "Durations are written as `30s`, `5m`, `1h30m`, `7d`."
    yield "An unknown `MAINSPRING_` variable is refused with the nearest known name."
    yield ""
    rows = []
    for row in setting_rows(load_settings({})):
        default = DATA_DIR_IN_WORDS if row.name == "MAINSPRING_DATA_DIR" else f"`{row.default}`" if row.default else ""
        rows.append((f"`{row.name}`", default, row.meaning))
    yield from _table(("setting", "default", "meaning"), rows)


def _events() -> Iterator[str]:
    yield "Events are stored in the transaction of the change they tell of, in order; `mainspring events` lists them."
    yield "Each has a cursor, an instant, an actor and, where it concerns one, the endpoint and the run."
    yield ""
    yield from _table(("event", "meaning"), [(f"`{each.value}`", meaning) for each, meaning in MEANING.items()])


def _errors() -> Iterator[str]:
    yield "Every refusal is one of these, at every door; its message says what happened, the rule, and the way out."
    yield ""
    yield "```"
    yield dedent(cleandoc(errors.__doc__ or "").split("\n\n")[1])
    yield "```"
    yield ""
    rows = [(f"`{kind.__name__}`", f"`{kind.code}`", str(code)) for kind, code in EXIT_CODE_OF.items()]
    yield from _table(("error", "code in JSON", "exit code"), rows)


def _problems() -> Iterator[str]:
    yield "Every error of the API is an RFC 9457 problem, `application/problem+json`."
    yield "`detail` says what happened, the rule and the way out; `errors` points at each fault in the request."
    yield "`request_id` is also in the header `X-Request-Id` and in the server's log."
    yield ""
    rows = [(f"`{BASE}{name}`", str(kind.status), kind.meaning) for name, kind in PROBLEMS.items()]
    yield from _table(("type", "status", "meaning"), rows)


def _configuration() -> Iterator[str]:
    yield "What may stand in a document."
    yield "[configuration.schema.json](configuration.schema.json) says the same to editors."
    schema = json_schema()
    yield ""
    top = [(f"`{key}`", each["description"]) for key, each in schema["properties"].items()]
    yield from _table(("key", "meaning"), [*top, ("`x-...`", schema["patternProperties"]["^x-"]["description"])])
    for section in SECTIONS:
        yield ""
        yield f"## {section.key}"
        yield ""
        yield cleandoc(section.entry.__doc__ or "")
        yield ""
        properties = schema["$defs"][section.entry.__name__]["properties"]
        rows = [(f"`{key}`", _default(each.get("default")), each["description"]) for key, each in properties.items()]
        for field in getattr(section.entry, "settings", ()):
            rows += [
                (f"`{field.key}.{part.key}`", f"`{part.default_text}`", part.about.sentence) for part in field.parts
            ]
        yield from _table(("key", "default", "meaning"), rows)


def _default(value: object) -> str:
    return f"`{json.dumps(value)}`" if value not in (None, "", [], {}) else ""


def _observability() -> Iterator[str]:
    yield "Logs go to standard error, one event a line: JSON, or for people on a terminal (`MAINSPRING_LOG_FORMAT`)."
    yield "`serve` answers `/metrics` for Prometheus, `/healthz` (the process lives) and `/readyz` (it can work)."
    yield ""
    yield "## Log events"
    yield ""
    yield from _table(("event", "meaning"), [(f"`{name}`", meaning) for name, meaning in LOG_EVENTS.items()])
    yield ""
    yield "## Metrics"
    yield ""
    rows = [
        (f"`{name}_total`" if kind == "counter" else f"`{name}`", kind, f"`{label}`" if label else "", meaning)
        for kind, name, meaning, label in METRICS.values()
    ]
    yield from _table(("metric", "kind", "label", "meaning"), rows)


def _page(title: str, lines: Iterable[str]) -> str:
    return "\n".join([GENERATED, "", f"# {title}", "", *lines]).rstrip("\n") + "\n"


def _sentences(text: str) -> Iterator[str]:
    """A docstring as Markdown, one sentence a line; a paragraph that is JSON is code."""
    for number, paragraph in enumerate(cleandoc(text).split("\n\n")):
        words = " ".join(paragraph.split())
        if number:
            yield ""
        yield f"    {words}" if words.startswith("{") else words.replace(". ", ".\n")


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(headings)
    yield _row(["---"] * len(headings))
    for row in rows:
        yield _row(row)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


if __name__ == "__main__":
    main()
