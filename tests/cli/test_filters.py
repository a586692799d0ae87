"""List commands take the filters that the API has, and answer the same beside the database and through a server."""

import asyncio
from typing import Any

import pytest
from typer.main import get_command

from mainspring.cli.main import app
from mainspring.cli.server_support import BY_API
from mainspring.client.table import OPERATIONS
from mainspring.domain.run import RunStatus
from tests.cli.local_and_remote import Pair, same
from tests.cli.shell import Shell
from tests.stores.world import an_outcome, claim, finished

# How commands name what the API names otherwise, and what they do not need: they go through all pages themselves.
ALIASES = {"limit": None, "cursor": None, "type": "kind", "start": None, "endpoint": "name",
           "with_total": None}  # fmt: skip
LISTS = {
    name: operations[0]
    for name, operations in BY_API.items()
    if name in ("runs", "events") or name.endswith((" list", " deliveries"))
}


def parameters(command: str) -> set[str]:
    found: Any = get_command(app)
    for word in command.split():
        found = found.commands[word]
    return {parameter.name for parameter in found.params}


@pytest.mark.parametrize("command", LISTS)
def test_every_filter_of_the_api_is_an_option(command: str) -> None:
    (operation,) = [each for each in OPERATIONS if each.id == LISTS[command]]
    for name in operation.query:
        wanted = ALIASES.get(name, name)

        assert wanted is None or {name, wanted} & parameters(command), name


async def test_filters_choose_the_same_on_both_sides(pair: Pair) -> None:
    for name in ("health", "report"):
        await pair.json("endpoint", "add", name, "--url", f"https://example.com/{name}", "--every", "1h", "--no-spread")
    batch = await claim(pair.stores)
    outcomes = [an_outcome(RunStatus.FAILURE, error="HTTP 500", error_code="http_status"), an_outcome()]
    done = [finished(each, outcome) for each, outcome in zip(batch.claims, outcomes, strict=True)]
    await pair.stores.schedule.finish(done)
    failing = batch.claims[0].endpoint.name
    (last,) = await pair.json("runs", "-n", "1")

    for command, count in {
        ("endpoint", "list", "--state", "failing"): 1,
        ("endpoint", "list", "--text", "/report"): 1,
        ("runs", "--trigger", "schedule"): 2,
        ("runs", "--trigger", "manual"): 0,
        ("runs", "--since", "2100-01-01T00:00:00Z"): 0,
        ("runs", "--until", "2100-01-01T00:00:00Z", "--status", "failed"): 1,
        ("runs", "--before", last["id"]): 1,
        ("events", "--type", "endpoint.created"): 2,
        ("events", "--type", "endpoint.created", "--endpoint", "report"): 1,
        ("execution", "list", "--step", "s1", "--version", "1"): 0,
        ("execution", "list", "--sort", "created_at"): 0,
        ("endpoint", "list", "--sort", "-name"): 2,
        ("endpoint", "list", "--sort", "next_run_at"): 2,
        ("runs", "--sort", "started_at"): 2,
        ("webhook", "deliveries", "--status", "failed"): 0,
    }.items():
        await same(pair, *command)
        assert len(await pair.json(*command)) == count, command
    assert [each["name"] for each in await pair.json("endpoint", "list", "--state", "failing")] == [failing]
    assert [each["name"] for each in await pair.json("endpoint", "list", "--sort", "-name")] == ["report", "health"]
    newest, oldest = [await pair.json("runs", "--sort", sort) for sort in ("-started_at", "started_at")]
    assert [each["id"] for each in newest] == [each["id"] for each in reversed(oldest)]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("endpoint", "list", "--state", "failin"), "unknown state 'failin', did you mean 'failing'? choose one of"),
        (
            ("runs", "--trigger", "cron"),
            "unknown trigger 'cron', did you mean 'schedule'? choose one of schedule, manual",
        ),
        (("runs", "--since", "yesterday"), "since 'yesterday' is not a timestamp"),
        (("events", "--type", "run.finishd"), "unknown type 'run.finishd', did you mean 'run.finished'?"),
        (("webhook", "deliveries", "--status", "lost"), "unknown status 'lost'; choose one of pending"),
        (("endpoint", "list", "--archived", "--state", "failing"), "--archived and --state exclude each other"),
    ],
)
def test_filter_that_is_not_known_is_refused_with_those_there_are(
    shell: Shell, command: tuple[str, ...], message: str
) -> None:
    assert message in shell.refused(*command)


async def test_endpoint_list_shows_which_endpoints_fail(pair: Pair) -> None:
    await pair.json("endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h", "--no-spread")
    batch = await claim(pair.stores)
    failed = an_outcome(RunStatus.FAILURE, error="HTTP 500", error_code="http_status")
    await pair.stores.schedule.finish([finished(each, failed) for each in batch.claims])
    listed = await asyncio.to_thread(pair.near.ok, "endpoint", "list")

    assert "health  failing  every 1h" in listed
    await same(pair, "endpoint", "list")


async def test_runs_show_when_they_started(pair: Pair) -> None:
    await pair.json("endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h", "--no-spread")
    batch = await claim(pair.stores)
    await pair.stores.schedule.finish([finished(each, an_outcome()) for each in batch.claims])
    (run,) = await pair.json("runs")
    heading, line = (await asyncio.to_thread(pair.near.ok, "runs")).splitlines()

    assert heading.startswith("STARTED")
    assert line.startswith(run["started_at"][:19].replace("T", " "))
    assert "UTC" in line
