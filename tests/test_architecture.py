"""The rules of the house that a machine can keep: who imports whom, sizes, names, purity, SQL.

Each rule is a function from source text to complaints, and is tested twice: on the tree, where it must be silent
(a folder that does not exist yet is silent too), and on a small offence, where it must not be.
The reasons are in CONTRIBUTING.md.
"""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
CODE_FOLDERS = ("src", "tests", "benchmarks", "tools")

MODULE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
# Longer, because two halves that import each other would be harder to read.
LONG_MODULES = frozenset({"src/mainspring/workflow/engine.py"})
FORBIDDEN_NAMES = frozenset(
    {"utils", "util", "common", "helpers", "helper", "manager", "base", "core", "service", "misc"}
)

# Room -> rooms it may import. A room is a folder or module directly under `mainspring`; new ones get a row here.
INNER = frozenset({"domain", "workflow", "ports"})
DOOR = INNER | {"inputs", "views", "operations", "settings", "observe", "event_feed", "documents"}
ROOMS: dict[str, frozenset[str]] = {
    "domain": frozenset(),
    "workflow": frozenset({"domain"}),
    "ports": frozenset({"domain", "workflow"}),
    "plugins": frozenset(),  # what other packages import to add a way to send email
    "kinds": INNER | {"outbound"},  # what other packages import to add a kind of endpoint
    "failpoints": frozenset(),  # where tests may make a process fail
    "stores": INNER | {"failpoints"},
    "outbound": INNER | {"failpoints"},
    "operations": INNER,
    "event_feed": INNER,  # one reader of the events for all listeners of a process, be they doors or workers
    "workers": INNER | {"plugins", "failpoints", "settings", "observe", "event_feed"},
    "settings": frozenset({"domain"}),
    "observe": frozenset({"domain", "ports", "settings"}),
    "inputs": frozenset({"domain"}),  # what API, MCP and documents take alike: one model a noun
    "documents": INNER | {"inputs", "operations"},  # configuration as code: a door whose visitors are files
    "views": INNER | {"operations", "documents"},  # what every door shows: one model per noun, made from domain values
    "api": DOOR,
    "mcp": DOOR,
    "cli": DOOR | {"wiring", "client", "simulation"},
    "wiring": DOOR
    | {
        "plugins",
        "stores",
        "outbound",
        "workers",
        "api",
        "mcp",
        "simulation",
    },  # the one place where wires meet
    "simulation": DOOR | {"workers", "wiring"},
    # what users import to test a configuration; it plays with what is real and scripts the rest
    "testing": DOOR | {"workers", "wiring", "simulation", "outbound"},
    "client": frozenset(),  # what others import to talk to a server: it knows the API and nothing of the house
    "__main__": frozenset({"cli"}),
}
# Pairs that share a room and must not know each other: they meet in the database, or are one of two of a kind.
STRANGERS = (("workers.planner", "workers.scheduler"), ("stores.sqlite", "stores.postgres"))

PURE_ROOMS = ("domain", "workflow")
# Modules that wait, log, read a clock, draw random numbers or reach outside. `zoneinfo` stays: zones are data.
IMPURE_MODULES = frozenset(
    """
    apsw asyncio asyncpg concurrent ctypes getpass glob http httpx importlib io locale logging
    multiprocessing os pathlib platform pycurl random requests secrets select selectors shutil signal
    smtplib socket sqlite3 ssl structlog subprocess sys tempfile threading time urllib.request uuid_utils
    """.split()
)
# Modules of pure rooms that work around a fault of a library, and what they import for it.
WORKAROUNDS = {
    "mainspring.domain.expressions.environment": frozenset({"ctypes", "sys"}),
    "mainspring.domain.kinds.installed": frozenset({"importlib"}),  # which kinds are installed is data, as zones are
}
# `hash` of a str differs from process to process, so nothing that is stored or replayed may depend on it.
IMPURE_CALLS = frozenset({"open", "print", "input", "hash", "uuid1", "uuid4", "uuid7", "urandom"})
# Words that once named modules and that only their author could guess.
FORBIDDEN_WORDS = frozenset(
    """
    afar booth courier door entrance errand flow flows frame guest letter likeness locksmith looking misfit notices
    parlour people playback rehearsal rulebook shape sight sights starter trail wish wishes
    """.split()
)
CLOCK_CALLS = frozenset(
    {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns"}
)
PYDANTIC_PLACES = (
    "mainspring.views",
    "mainspring.api",
    "mainspring.mcp",
    "mainspring.settings",
    "mainspring.documents",
    "mainspring.inputs",
    "mainspring.views",
    "mainspring.workflow.document",
)

# Modules that take the message of a library apart, because the library says it nowhere else; or, marked, still our own.
MESSAGES_PARSED_IN = frozenset(
    {
        "mainspring.cli.explain",  # msgspec
        "mainspring.cli.usage_errors",  # Typer
        "mainspring.domain.expressions.arithmetic",  # CEL
        "mainspring.stores.postgres.backup",  # PostgreSQL
        "mainspring.api.models.fields",  # our own: the place of a duration is said before it
        "mainspring.documents.entries",  # our own: the same
        "mainspring.operations.rules",  # our own: the name of a rule is said before its fault
        "mainspring.settings",  # our own: the same
    }
)
TEXT_METHODS = frozenset(
    "startswith endswith removeprefix removesuffix partition rpartition find index "
    "match search fullmatch sub findall".split()
)

PUBLIC_PACKAGES = tuple(f"src/mainspring/{each}__init__.py" for each in ("", "client/", "testing/"))

SQL_CLOCK = re.compile(
    r"\b(now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday)\s*\("
    r"|\b(current_timestamp|current_time|current_date|localtime|localtimestamp)\b|'now'",
    re.IGNORECASE,
)
SQL_STATEMENT = re.compile(
    r"\s*(select\s.*\sfrom\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|with\s+\S+\s+as\s"
    r"|(create|alter|drop)\s+(table|index|database|schema|view)\s)",
    re.IGNORECASE | re.DOTALL,
)
Complaints = Iterator[str]


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """`mainspring.stores.sqlite.store` -> `stores`; the package itself is the room without a name."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every module named by an import, wherever it stands; `from a import b` names a and a.b, which may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.lineno, node.module
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def is_within(module: str, ancestor: str) -> bool:
    return module == ancestor or module.startswith(ancestor + ".")


def complain_about_imports(module: str, source: str) -> Complaints:
    room = room_of(module)
    if room and room not in ROOMS:
        yield f"{module}: room {room!r} is not on the plan; give it a row in ROOMS and say in docs/decisions why"
        return
    for line, name in imports_of(ast.parse(source)):
        other = room_of(name) if is_within(name, "mainspring") else ""
        if not other or other == "__version__":
            continue
        if other != room and (room == "" or other not in ROOMS[room]):
            yield f"{module}:{line}: {room or 'the package'} may not import {name}"
        for pair in STRANGERS:
            for here, there in (pair, pair[::-1]):
                if is_within(module, f"mainspring.{here}") and is_within(name, f"mainspring.{there}"):
                    yield f"{module}:{line}: {here} and {there} never import each other"


def complain_about_pydantic(module: str, source: str) -> Complaints:
    """Pydantic parses what strangers send, so it lives at the doors; inside, data is frozen and already right."""
    if any(is_within(module, place) for place in PYDANTIC_PLACES):
        return
    for line, name in imports_of(ast.parse(source)):
        if is_within(name, "pydantic") or is_within(name, "pydantic_settings"):
            yield f"{module}:{line}: pydantic belongs to the doors ({', '.join(PYDANTIC_PLACES)})"
            return


def dotted(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return f"{dotted(node.value)}.{node.attr}"
        case _:
            return "?"


def complain_about_parsed_sentences(module: str, source: str) -> Complaints:
    """A sentence is never parsed: what a program must know travels as a field of the error."""
    if module in MESSAGES_PARSED_IN:
        return
    tree = ast.parse(source)
    faults = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)} | {"fault", "refusal"}

    def is_message(node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
                return name in faults
            case ast.Attribute(value=ast.Name(id=name), attr="detail" | "message"):
                return name in faults
            case _:
                return False

    for node in ast.walk(tree):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[asked]) if is_message(asked):
                yield f"{module}:{node.lineno}: looks for words in a message; give the error a field"
            case ast.Call(func=ast.Attribute(value=text, attr=attr), args=given) if attr in TEXT_METHODS:
                if is_message(text) or any(is_message(each) for each in given):
                    yield f"{module}:{node.lineno}: takes a message apart; give the error a field"


def complain_about_clocks(module: str, source: str) -> Complaints:
    """Two clocks are a bug: the wall clock is read in wiring/clock.py and handed to everyone else."""
    if module == "mainspring.wiring.clock":
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ".".join(dotted(node.func).split(".")[-2:]) in CLOCK_CALLS:
            yield f"{module}:{node.lineno}: {dotted(node.func)}() reads the wall clock; take `now` as an argument"


def complain_about_impurity(module: str, source: str) -> Complaints:
    if room_of(module) not in PURE_ROOMS:
        return
    tree = ast.parse(source)
    for line, name in imports_of(tree):
        if any(is_within(name, impure) for impure in IMPURE_MODULES - WORKAROUNDS.get(module, frozenset())):
            yield f"{module}:{line}: a pure room may not import {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in IMPURE_CALLS:
            yield f"{module}:{node.lineno}: a pure room may not call {dotted(node.func)}"
        elif isinstance(node, ast.AsyncFunctionDef | ast.Await):
            yield f"{module}:{node.lineno}: nothing in a pure room waits"


def complain_about_size(name: str, source: str) -> Complaints:
    lines = len(source.splitlines())
    if lines > MODULE_LINES_MAX and name not in LONG_MODULES:
        yield f"{name}: {lines} lines, at most {MODULE_LINES_MAX}; split it along its nouns"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield f"{name}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LINES_MAX}"


def complain_about_name(name: str, source: str) -> Complaints:
    for part in Path(name).with_suffix("").parts:
        if part in FORBIDDEN_NAMES:
            yield f"{name}: {part!r} says nothing about what is inside; name the noun"


def complain_about_metaphor(name: str, source: str) -> Complaints:
    """Metaphors are for processes; anything else is named after the command, route, table or thing it implements."""
    for word in Path(name).stem.split("_"):
        if word in FORBIDDEN_WORDS:
            yield f"{name}: {word!r} is a riddle to a newcomer; name the command, route, table or thing"


def complain_about_init(name: str, source: str) -> Complaints:
    """An `__init__.py` is empty or a docstring; those that others import from may also name what is public."""
    if Path(name).name != "__init__.py":
        return
    is_package = name in PUBLIC_PACKAGES
    for node in ast.parse(source).body:
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.Import() | ast.ImportFrom() if is_package:
                continue
            case ast.Assign(targets=[ast.Name(id="__all__" | "__version__")]) if is_package:
                continue
            case _:
                yield f"{name}:{node.lineno}: logic in an __init__.py; move it to a module with a name"


def comments_of(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def complain_about_comments(name: str, source: str) -> Complaints:
    for line, comment in comments_of(source):
        if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", comment) and not re.search(r"(#|issue )\d+", comment):
            yield f"{name}:{line}: a promise without an issue number is forgotten; write TODO(#12)"
        ignored = re.search(r"type: ignore(\[[\w\-, ]+\])?(.*)", comment)
        if ignored and (ignored[1] is None or not re.search(r"\w{3}", ignored[2])):
            yield f"{name}:{line}: `type: ignore[code]` needs its code and, after it, a reason"


def complain_about_mocks(name: str, source: str) -> Complaints:
    for line, module in imports_of(ast.parse(source)):
        if is_within(module, "unittest.mock") or is_within(module, "pytest_mock"):
            yield f"{name}:{line}: no patching; use the fake that lives with the port, or the real thing"
            return


def complain_about_built_sql(module: str, source: str) -> Complaints:
    """SQL made by formatting is how values become statements. Queries live in queries.sql and take named parameters."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.JoinedStr(values=values) if any(isinstance(value, ast.FormattedValue) for value in values):
                text = "".join(str(value.value) if isinstance(value, ast.Constant) else "x" for value in values)
            case ast.BinOp(left=ast.Constant(value=str(left)), op=ast.Mod() | ast.Add()):
                text = left
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(formatted)), attr="format")):
                text = formatted
            case _:
                continue
        if SQL_STATEMENT.match(text + " "):
            yield f"{module}:{node.lineno}: SQL built from pieces: {text.strip()[:40]!r}; use a named query"


def complain_about_queries(name: str, source: str) -> Complaints:
    """Each query: `-- name: verb_object`, then a sentence of purpose, then SQL with named parameters and no clock."""
    preamble, *queries = re.split(r"^-- name: *", source, flags=re.MULTILINE)
    if without_comments(preamble).strip():
        yield f"{name}: a statement before the first `-- name:`"
    seen = set()
    for query in queries:
        title, _, body = query.partition("\n")
        title = title.strip()
        if not re.fullmatch(r"[a-z][a-z0-9_]*", title):
            yield f"{name}: {title!r} is not a query name; verb and object, in snake_case"
        if title in seen:
            yield f"{name}: {title} is there twice"
        seen.add(title)
        if not re.match(r"-- [A-Z]\S* \S+", body):
            yield f"{name}: {title} has no sentence of purpose under its name"
        statement = without_comments(body)
        if not statement.strip():
            yield f"{name}: {title} has no statement"
        clock = SQL_CLOCK.search(statement)
        if clock and not title.endswith("read_clock"):
            yield f"{name}: {title} uses {clock[0]!r}; the caller passes time (only a read_clock asks)"
        if re.search(r"\$\d|%s|(?<![\w'?])\?(?![\w'?|&])", re.sub(r"'[^']*'", "''", statement)):
            yield f"{name}: {title} has positional parameters; name them"


def without_comments(sql: str) -> str:
    return re.sub(r"--[^\n]*|/\*.*?\*/", "", sql, flags=re.DOTALL)


def complain_about_migration(name: str, source: str) -> Complaints:
    if not re.fullmatch(r"\d{4}_[a-z0-9_]+\.sql", Path(name).name):
        yield f"{name}: a migration is called NNNN_what.sql"
    clock = SQL_CLOCK.search(without_comments(source))
    if clock:
        yield f"{name}: {clock[0]!r} as a default is a second clock; the caller passes time"


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def by_module(path: Path) -> str:
    return module_name(path)


def by_path(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def query_files() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.sql") if path.parent.name != "migrations")


def migration_files() -> list[Path]:
    return sorted(SOURCE.rglob("migrations/*.sql"))


Rule = Callable[[str, str], Complaints]
RULES: dict[str, tuple[Rule, Callable[[Path], str], Callable[[], list[Path]]]] = {
    "rooms import only what the plan allows": (complain_about_imports, by_module, lambda: python_files("src")),
    "pydantic stays at the doors": (complain_about_pydantic, by_module, lambda: python_files("src")),
    "the wall clock is read in one place": (complain_about_clocks, by_module, lambda: python_files("src")),
    "no sentence is parsed": (complain_about_parsed_sentences, by_module, lambda: python_files("src")),
    "pure rooms are pure": (complain_about_impurity, by_module, lambda: python_files("src")),
    "modules and functions are short": (complain_about_size, by_path, lambda: python_files(*CODE_FOLDERS)),
    "modules are named for what they hold": (complain_about_name, by_path, lambda: python_files(*CODE_FOLDERS)),
    "no module is named by a metaphor": (complain_about_metaphor, by_path, lambda: python_files("src", "tools")),
    "no init file has logic": (complain_about_init, by_path, lambda: python_files(*CODE_FOLDERS)),
    "comments keep their promises": (complain_about_comments, by_path, lambda: python_files(*CODE_FOLDERS)),
    "tests patch nothing": (complain_about_mocks, by_path, lambda: python_files("tests")),
    "no SQL is built from pieces": (complain_about_built_sql, by_module, lambda: python_files("src")),
    "queries are named, explained and timeless": (complain_about_queries, by_path, query_files),
    "migrations are numbered and timeless": (complain_about_migration, by_path, migration_files),
}


@pytest.mark.parametrize("rule", RULES)
def test_house_rule(rule: str) -> None:
    complain, label, files = RULES[rule]
    complaints = [line for path in files() for line in complain(label(path), path.read_text(encoding="utf-8"))]

    assert not complaints, "\n" + "\n".join(complaints)


def test_class_names_are_unique_in_the_package() -> None:
    places: dict[str, list[str]] = {}
    for path in python_files("src"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(by_path(path))

    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("store", sorted(path.parent.name for path in SOURCE.rglob("migrations") if path.is_dir()))
def test_migrations_of_a_store_are_numbered_once_each(store: str) -> None:
    numbers = [int(path.name[:4]) for path in migration_files() if path.parents[1].name == store]

    assert len(set(numbers)) == len(numbers)
