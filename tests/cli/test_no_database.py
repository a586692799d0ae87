"""Commands that only read leave a machine without a database as it was."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from mainspring.cli.server_support import BY_API, READS
from mainspring.client.table import OPERATIONS
from tests.cli.shell import Shell

NEEDS = {
    "run show": ("run_1",), "call show": ("call_1",), "why": ("health",), "next": ("health",), "job show": ("shop",),
    "endpoint show": ("health",), "sessions show": ("ses_1",), "proposals show": ("prop_1",),
    "workflow show": ("order",), "workflow versions": ("order",),
    "workflow diff": ("order",), "execution show": ("exe_1",), "execution log": ("exe_1",),
    "execution verify": ("exe_1",), "execution replay": ("exe_1",), "execution export": ("exe_1",),
    "connection show": ("billing",),
    "webhook show": ("shop",), "webhook deliveries": ("shop",), "alert show": ("ops",), "alert deliveries": ("ops",),
    "maintenance show": ("night",), "calendar show": ("holidays",), "calendar preview": ("holidays",),
    "backtest": ("health",), "rules test": ("health", "--when", "true"),
    "workflow simulate": ("order",),
}  # fmt: skip


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Shell:
    settings = {"MAINSPRING_DATA_DIR": str(tmp_path / "data")}
    if request.param == "postgres":
        settings["MAINSPRING_DATABASE_URL"] = request.getfixturevalue("postgres_empty_url")
    return Shell(settings)


async def tables(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    finally:
        await connection.close()
    return [row[0] for row in rows]


def test_commands_that_only_read_make_no_database(empty: Shell, tmp_path: Path) -> None:
    document = tmp_path / "shop.yaml"
    document.write_text("endpoints: {health: {url: 'https://example.com/', every: 1m}}\n")
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {when: 'failures > 0', run: now}\n")
    given = NEEDS | {"diff": (str(document),), "rules check": (str(rules), "--endpoint", "health")}
    for command in sorted(READS):
        result = empty(*command.split(), *given.get(command, ()))

        assert result.exit_code in (0, 1, 3, 7, 78), (command, result.output)
    assert not (tmp_path / "data").exists()
    if url := empty.env.get("MAINSPRING_DATABASE_URL"):
        assert asyncio.run(tables(url)) == []


def test_missing_database_is_noted_beside_an_empty_answer(empty: Shell, tmp_path: Path) -> None:
    listed = empty("endpoint", "list")

    assert (listed.exit_code, listed.stdout.startswith("No endpoints yet.")) == (0, True)
    assert listed.stderr.startswith(("note: the", "note: database"))
    assert listed.stderr.endswith(
        "the output is empty; MAINSPRING_DATA_DIR and MAINSPRING_DATABASE_URL select another database\n"
    )


def test_doctor_makes_no_database(empty: Shell, tmp_path: Path) -> None:
    findings = {each["check"]: (each["level"], each["message"]) for each in empty.json("doctor")}

    assert findings["database"][0] == "ok"
    assert "creates" in findings["database"][1]
    assert "will be created at the first start" in findings["secret key"][1]
    assert not (tmp_path / "data").exists()
    if url := empty.env.get("MAINSPRING_DATABASE_URL"):
        assert asyncio.run(tables(url)) == []


def test_events_of_a_database_that_does_not_exist_cannot_be_followed(empty: Shell, tmp_path: Path) -> None:
    assert "creates" in empty.refused("events", "--follow", code=78)
    assert not (tmp_path / "data").exists()


def test_dry_run_makes_no_database_and_the_real_one_does(shell: Shell, tmp_path: Path) -> None:
    document = tmp_path / "shop.yaml"
    document.write_text("endpoints: {health: {url: 'https://example.com/', every: 1m}}\n")

    assert "plan: 2 created" in shell.ok("apply", str(document), "--dry-run")
    assert not (tmp_path / "data").exists()
    shell.ok("apply", str(document))
    assert [each["name"] for each in shell.json("endpoint", "list")] == ["health"]


def test_every_command_that_only_gets_is_among_those_that_only_read() -> None:
    methods = {operation.id: operation.method for operation in OPERATIONS}
    getting = {name for name, each in BY_API.items() if {methods[operation] for operation in each} == {"GET"}}

    assert getting - READS == {"schema"}, "it needs no database"
