"""The rules of test_architecture catch what they claim to catch: each row is a small offence, or its innocent twin."""

import pytest

from tests import test_architecture as house

LONG_FUNCTION = "def f() -> None:\n" + "    x = 1\n" * 70

OFFENCES = {
    "domain imports a store": ("import only", "mainspring.domain.run", "import mainspring.stores.sqlite.store"),
    "domain imports the workflow": ("import only", "mainspring.domain.run", "from mainspring.workflow import engine"),
    "workers import operations": (
        "import only",
        "mainspring.workers.scheduler",
        "from mainspring.operations import hints",
    ),
    "operations import workers": ("import only", "mainspring.operations.hints", "import mainspring.workers.janitor"),
    "a worker names a concrete store": (
        "import only",
        "mainspring.workers.janitor",
        "from mainspring.stores import sqlite",
    ),
    "a door imports another door": (
        "import only",
        "mainspring.mcp.tools",
        "from mainspring.api.schemas import Endpoint",
    ),
    "a door names an adapter": ("import only", "mainspring.api.app", "from mainspring.outbound.caller import Caller"),
    "an import hidden in a function": (
        "import only",
        "mainspring.ports",
        "def f() -> None:\n    from mainspring import wiring\n",
    ),
    "a room that is not on the plan": ("import only", "mainspring.plumbing", "import json"),
    "the planner knows the scheduler": (
        "import only",
        "mainspring.workers.planner",
        "from mainspring.workers import scheduler",
    ),
    "one store knows the other": (
        "import only",
        "mainspring.stores.postgres.store",
        "import mainspring.stores.sqlite.store",
    ),
    "pydantic in the domain": ("pydantic", "mainspring.domain.run", "from pydantic import BaseModel"),
    "a second wall clock": ("wall clock", "mainspring.workers.janitor", "x = datetime.datetime.now(UTC)"),
    "a wall clock by its module": ("wall clock", "mainspring.stores.sqlite.store", "x = time.time()"),
    "a clock module in the domain": ("pure", "mainspring.domain.run", "from time import monotonic"),
    "random numbers in the domain": ("pure", "mainspring.domain.run", "import random"),
    "a log in the workflow": ("pure", "mainspring.workflow.engine", "import structlog"),
    "a salted hash in the workflow": ("pure", "mainspring.workflow.audit", "x = hash('a')"),
    "a random id in the domain": ("pure", "mainspring.domain.run", "x = uuid.uuid4()"),
    "waiting in the domain": ("pure", "mainspring.domain.run", "async def f() -> None: ..."),
    "a long function": ("short", "src/mainspring/x.py", LONG_FUNCTION),
    "a long module": ("short", "src/mainspring/x.py", "x = 1\n" * 501),
    "a module called utils": ("named for", "src/mainspring/domain/utils.py", ""),
    "a folder called core": ("named for", "src/mainspring/core/run.py", ""),
    "an init file that imports": ("init", "src/mainspring/domain/__init__.py", "from mainspring.domain.run import Run"),
    "an init file that computes": ("init", "src/mainspring/__init__.py", "x = compute()"),
    "a promise without a number": ("comments", "src/x.py", "# TO" + "DO: later"),
    "an ignore without a reason": ("comments", "src/x.py", "x = 1  # type: " + "ignore[misc]"),
    "an ignore without a code": ("comments", "src/x.py", "x = 1  # type: " + "ignore  # it is fine"),
    "a mock": ("patch", "tests/test_x.py", "from unittest import mock"),
    "an f-string with SQL": ("SQL", "mainspring.stores.x", 'x = f"SELECT * FROM run WHERE id = {y}"'),
    "a concatenated statement": ("SQL", "mainspring.stores.x", 'x = "DELETE FROM run WHERE id = " + y'),
    "a formatted statement": ("SQL", "mainspring.stores.x", 'x = "UPDATE run SET a = {}".format(y)'),
    "words looked for in a message": ("sentence", "mainspring.cli.x", "y = 'did you mean' in str(fault)"),
    "a pattern over a message": ("sentence", "mainspring.cli.x", "y = re.match('no (.*)', refusal.detail)"),
    "a message cut": (
        "sentence",
        "mainspring.api.x",
        "try:\n    f()\nexcept ValueError as e:\n    y = str(e).removeprefix('it ')",
    ),
    "a statement without a name": ("queries", "queries.sql", "SELECT 1;"),
    "a query without a purpose": ("queries", "queries.sql", "-- name: claim_due\nSELECT 1;"),
    "a query with a clock": ("queries", "queries.sql", "-- name: due\n-- Find what is due.\nSELECT now();"),
    "a query with SQLite's clock": (
        "queries",
        "queries.sql",
        "-- name: due\n-- Find it all now.\nSELECT datetime('now')",
    ),
    "a query with a numbered parameter": ("queries", "queries.sql", "-- name: due\n-- Find what is due.\nSELECT $1;"),
    "a query with a question mark": ("queries", "queries.sql", "-- name: due\n-- Find what is due.\nSELECT a = ?;"),
    "two queries of one name": ("queries", "queries.sql", "-- name: due\n-- Find what is due.\nSELECT 1;\n" * 2),
    "a migration without a number": ("migrations", "stores/sqlite/migrations/first.sql", ""),
    "a migration with a clock": ("migrations", "0001_runs.sql", "CREATE TABLE run (at timestamptz DEFAULT now());"),
}

INNOCENTS = {
    "wiring names everything": ("import only", "mainspring.wiring", "from mainspring.stores.sqlite import store"),
    "a store shares with its room": ("import only", "mainspring.stores.sqlite.store", "import mainspring.stores.rows"),
    "the version is for everyone": ("import only", "mainspring.api.app", "from mainspring import __version__"),
    "cli uses wiring": ("import only", "mainspring.cli.serve", "from mainspring import wiring"),
    "pydantic in the settings": ("pydantic", "mainspring.settings", "from pydantic_settings import BaseSettings"),
    "a message repeated": ("sentence", "mainspring.cli.x", "y = f'{fault}; try again'"),
    "the one wall clock": ("wall clock", "mainspring.wiring.clock", "x = datetime.now(UTC)"),
    "a measured duration": ("wall clock", "mainspring.workers.scheduler", "x = time.monotonic()"),
    "times of day and zones": ("pure", "mainspring.domain.schedule.cron", "from datetime import time\nimport zoneinfo"),
    "a random number in a worker": ("pure", "mainspring.workers.janitor", "import random"),
    "public names of the package": ("init", "src/mainspring/__init__.py", '"""Doc."""\n__version__ = "1"\n'),
    "a promise with a number": ("comments", "src/x.py", "# TO" + "DO(#12): later"),
    "an ignore with a reason": ("comments", "src/x.py", "x = 1  # type: " + "ignore[misc]  # their stub is wrong"),
    "a question about a deletion": ("SQL", "mainspring.cli.x", 'x = f"delete {name} from the schedule?"'),
    "the one query with a clock": (
        "queries",
        "queries.sql",
        "-- name: read_clock\n-- Tell the database's time.\nSELECT now();",
    ),
    "a clock in a comment": (
        "queries",
        "queries.sql",
        "-- name: due\n-- Find what is due.\n-- not now()\nSELECT :now;",
    ),
    "a cast and a json operator": (
        "queries",
        "queries.sql",
        "-- name: due\n-- Find what is due.\nSELECT :a::text, b ->> 'c?';",
    ),
}


def complaints(word: str, label: str, source: str) -> list[str]:
    (rule,) = [rule for rule in house.RULES if word in rule]
    return list(house.RULES[rule][0](label, source))


@pytest.mark.parametrize("offence", OFFENCES)
def test_offence_is_found(offence: str) -> None:
    assert complaints(*OFFENCES[offence])


@pytest.mark.parametrize("innocent", INNOCENTS)
def test_innocent_is_left_alone(innocent: str) -> None:
    assert not complaints(*INNOCENTS[innocent])
