"""Commands through a server: what they print, and how they end, is what they print beside the database."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from mainspring.views.endpoint import EndpointView
from tests.cli.local_and_remote import Pair, timeless
from tests.cli.shell import Shell
from tests.peers.hostile import HostilePeer
from tests.stores.world import an_outcome, claim, finished

JSON = ("-o", "json")
ON_SQLITE = pytest.mark.parametrize("pair", ["sqlite"], indirect=True)  # what is long, and the same on both


@pytest.mark.parametrize("later", ["now", "in 1h", "in 59m59s", "1ms ago", "3d4h ago"])
def test_comparison_does_not_see_how_much_time_passed_between_two_doors(later: str) -> None:
    assert timeless(f"runs next at 2025-01-01 00:00:00.001 UTC ({later})") == timeless(
        "runs next at 2025-01-01 00:00:01 UTC (in 999ms)"
    )


async def test_what_is_shown_is_the_same(pair: Pair) -> None:
    await pair.json(
        "endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h", "--no-spread", "--job", "shop",
        "--secret-header", "X-Pin: 1234", "--header", "Accept: text/plain", "--accept-codes", "200,404",
    )  # fmt: skip
    await pair.json("hint", "interval", "health", "30m", "--reason", "a deploy")
    batch = await claim(pair.stores)
    await pair.stores.schedule.finish([finished(each, an_outcome(headers=(("a", "b"),))) for each in batch.claims])
    (run,) = await pair.json("runs")

    for command in (
        ("endpoint", "list"),
        ("endpoint", "show", "health"),
        ("job", "list"),
        ("job", "show", "shop"),
        ("runs", "health"),
        ("runs", "--status", "failure"),
        ("runs", "--status", "failed"),
        ("run", "show", run["id"]),
        ("run", "show", run["id"], "--body"),
        ("why", "health"),
        ("next", "health", "-n", "3"),
        ("next", "health", "-n", "3", "--if", "failures=2"),
    ):
        near, far = await pair.both(*command)
        assert far == near, command
        near, far = await pair.both(*command, *JSON)
        assert far == near, command


async def test_what_is_refused_is_the_same(pair: Pair) -> None:
    await pair.json("endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h")

    for command in (
        ("endpoint", "show", "healht"),
        ("endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h"),
        ("endpoint", "add", "x", "--url", "https://example.com/"),
        ("endpoint", "edit", "health", "--method", "GRAB"),
        ("endpoint", "pause", "health", "--until", "2020-01-01T00:00:00Z"),
        ("job", "show", "nope"),
        ("run", "show", "run_nope"),
        ("runs", "nope"),
        ("runs", "--before", "xx"),
        ("why", "nope"),
        ("hint", "interval", "nope", "5s"),
    ):
        for style in ((), ("-o", "json")):
            near, far = await pair.both(*command, *style)
            assert far == near, command


async def test_what_is_done_is_done_and_told_the_same(pair: Pair) -> None:
    for name in ("near", "far"):
        shell = getattr(pair, name)
        said: list[str] = []
        for command in (
            ("job", "add", f"{name} job"),
            ("endpoint", "add", f"{name}", "--url", "https://example.com/", "--every", "1h", "--job", f"{name} job"),
            ("endpoint", "edit", name, "--every", "2h", "--header", "A: 1"),
            ("endpoint", "edit", name, "--every", "2h"),
            ("endpoint", "edit", name, "--cron", "@daily", "--secret-header", "X-Pin: 1", "--remove-header", "A"),
            ("endpoint", "pause", name, "--duration", "1h", "--reason", "lunch"),
            ("endpoint", "resume", name),
            ("endpoint", "resume", name),
            ("hint", "interval", name, "5m"),
            ("hint", "oneshot", name, "--after", "30s"),
            ("hint", "clear", name),
            ("endpoint", "reset", name),
            ("job", "edit", f"{name} job", "--description", "x"),
            ("job", "pause", f"{name} job"),
            ("job", "resume", f"{name} job"),
            ("endpoint", "run", name),
            ("endpoint", "archive", name),
            ("endpoint", "show", name),
        ):
            result = await asyncio.to_thread(shell, *command)
            said.append(timeless(result.output).replace(name, "NAME"))
        if name == "near":
            expected = said
    assert said == expected


async def test_run_is_waited_for_and_deleted(pair: Pair) -> None:
    await pair.json("endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h")
    await pair.stores.presence.appear("worker-1")
    await pair.stores.presence.beat("worker-1", {"scheduler": 1})
    waiting = asyncio.create_task(asyncio.to_thread(pair.far, "endpoint", "run", "health", "--wait"))
    while not waiting.done():  # what it waits for is done here
        batch = await claim(pair.stores)
        await pair.stores.schedule.finish([finished(each) for each in batch.claims])
        await asyncio.sleep(0.02)
    deleted = await pair.json("endpoint", "delete", "health", "--yes")

    result = waiting.result()
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("health: success, HTTP 200")
    assert (deleted["name"], deleted["deleted"]) == ("health", True)


async def test_test_call_is_made_by_the_server(pair: Pair) -> None:
    async with HostilePeer() as peer:
        await pair.json("endpoint", "add", "health", "--url", peer.url("/ok"), "--every", "1h")
        shown = await asyncio.to_thread(pair.far.ok, "endpoint", "test", "health")
        told = await pair.json("endpoint", "test", "health")

    assert "success" in shown
    assert (told["trigger"], told["body"]["bytes_kept"]) == ("test", len('{"ok": true, "queue_depth": 3}'))


async def test_views_are_read_back_whole(pair: Pair) -> None:
    added = await pair.json("endpoint", "add", "health", "--url", "https://e.com/", "--every", "1h", "--no-spread")
    batch = await claim(pair.stores)
    running = await pair.json("endpoint", "show", "health")
    await pair.stores.schedule.finish([finished(each) for each in batch.claims])

    assert EndpointView.model_validate(added).as_json() == added
    assert EndpointView.model_validate(running).as_json() == running


async def test_command_that_needs_the_machine_says_so(pair: Pair) -> None:
    result = await asyncio.to_thread(pair.far, "doctor")

    assert result.exit_code == 1
    assert f"`mainspring doctor` does not work through the server '{pair.server}'" in result.output


def test_key_that_is_not_known_ends_with_6_and_a_server_that_is_not_there_with_5() -> None:
    away = Shell({"MAINSPRING_API_KEY": "nope"})

    result = away("--server", "http://127.0.0.1:9", "job", "list", *JSON)
    assert result.exit_code == 5
    assert json.loads(result.stderr)["error"]["code"] == "store-unavailable"
    assert away("--server", "example.com", "job", "list").exit_code == 1


async def test_unknown_key_is_refused(pair: Pair) -> None:
    result = await asyncio.to_thread(pair.far, "job", "list", MAINSPRING_API_KEY="nope")

    assert (result.exit_code, result.stdout) == (6, "")
    assert "this key is not known" in result.stderr


async def test_missing_key_is_told_with_the_way_to_one(pair: Pair) -> None:
    result = await asyncio.to_thread(pair.far, "job", "list", MAINSPRING_API_KEY="")

    assert (result.exit_code, result.stdout) == (6, "")
    assert "MAINSPRING_API_KEY is not set; make a key where the server runs" in result.stderr


ALERT = ("alert", "add", "ops", "--to", "ops@example.com", "--to", "https://chat.example.com/s3cret", "--on", "late")
HOOK = "https://hook.example.com/x"


@ON_SQLITE
async def test_people_keys_and_messages_are_shown_the_same(pair: Pair) -> None:
    pair.far.env["MAINSPRING_API_KEY"] = "operator"
    for command in (
        ("user", "add", "ann@example.com"), ("member", "add", "bob@example.com", "--role", "operator"),
        ("apikey", "create", "ci", "--scope", "run"), ("signing-key", "create"),
        (*ALERT, "--quiet", "22:00-07:00", "--cooldown", "10m"), ("webhook", "add", HOOK, "--type", "run.*"),
        ("maintenance", "add", "night", "--cron", "0 2 * * *", "--duration", "1h", "--description", "patches"),
        ("calendar", "add", "closed", "--date", "2090-12-24 Closed", "--weekdays", "sat,sun", "--holidays", "DE"),
        ("tenant", "create", "acme"),
    ):  # fmt: skip
        made = await asyncio.to_thread(pair.near, *command)
        assert made.exit_code == 0, made.output

    looks: list[tuple[str, ...]] = [
        ("tenant", "show"), ("tenant", "list"), ("user", "list"), ("member", "list"), ("apikey", "list"),
        ("signing-key", "list"), ("alert", "list"), ("alert", "show", "ops"), ("alert", "deliveries", "ops"),
        ("maintenance", "list"), ("maintenance", "show", "night"),
        ("calendar", "list"), ("calendar", "show", "closed"), ("calendar", "preview", "closed", "--days", "30"),
        ("webhook", "list"), ("webhook", "show", "hook.example.com"), ("webhook", "deliveries"),
        ("audit", "list", "-n", "3"), ("audit", "verify"), ("audit", "verify", "--installation"), ("events", "-n", "5"),
        ("export",),
    ]  # fmt: skip
    for look in looks:
        near, far = await pair.both(*look)
        assert far == near, look
        near, far = await pair.both(*look, *JSON)
        assert far == near, look


@ON_SQLITE
async def test_people_keys_and_messages_are_changed_the_same(pair: Pair) -> None:
    pair.far.env["MAINSPRING_API_KEY"] = "operator"
    await asyncio.to_thread(pair.near, "user", "add", "first@example.com", "--password-stdin", stdin="long enough 1\n")
    pair.near.env["MAINSPRING_PUBLIC_URL"] = pair.server  # else it is told to set it
    heard: dict[str, list[str]] = {}
    for name in ("near", "far"):
        shell, mail = getattr(pair, name), f"{name}@example.com"
        told = heard.setdefault(name, [])
        for command in (
            ("tenant", "create", f"tenant-{name}"), ("tenant", "set", "--runs-per-month", "1000"),
            ("user", "add", mail, "--role", "viewer"), ("user", "disable", mail), ("user", "enable", mail),
            ("user", "password", mail, "--password-stdin"), ("user", "link", mail),
            ("member", "role", mail, "--role", "operator"), ("member", "remove", mail),
            ("member", "add", mail, "--role", "viewer"), ("apikey", "create", name), ("apikey", "revoke", "nope"),
            ("signing-key", "create"), ("alert", "add", name, "--to", mail), ("alert", "add", name, "--to", mail),
            ("alert", "edit", name, "--failures", "5", "--on", "late,failing"), ("alert", "show", name),
            ("alert", "test", name), ("alert", "delete", name), ("alert", "show", name),
            ("maintenance", "add", name, "--start", "2090-01-31T22:00:00Z", "--end", "2090-02-01T02:00:00Z"),
            ("maintenance", "add", name, "--cron", "0 2 * * *"),
            ("maintenance", "edit", name, "--cron", "0 2 * * *", "--duration", "1h", "--runs", "continue"),
            ("maintenance", "show", name), ("maintenance", "delete", name), ("maintenance", "show", name),
            ("calendar", "add", name, "--date", "2090-12-24", "--date", "2090-12-26..2090-12-31 Closed"),
            ("calendar", "add", name, "--date", "tomorrow"), ("calendar", "edit", name, "--holidays", "XX"),
            ("endpoint", "add", name, "--url", "https://example.com/", "--cron", "0 9 * * *", "--except", name,
             "--shift", "next_business_day"),
            ("endpoint", "show", name), ("calendar", "delete", name), ("endpoint", "edit", name, "--except", ""),
            ("calendar", "edit", name, "--weekdays", "sun"), ("endpoint", "edit", name, "--shift", "skip"),
            ("endpoint", "edit", name, "--except", ""), ("calendar", "delete", name), ("calendar", "show", name),
            ("webhook", "add", HOOK, "--name", name), ("webhook", "edit", name, "--type", "job.*", "--disable"),
            ("webhook", "edit", name, "--new-secret"), ("webhook", "show", name), ("webhook", "delete", name),
            ("webhook", "redeliver", "msg_nope"),
        ):  # fmt: skip
            result = await asyncio.to_thread(shell, *command, stdin="long enough 2\n")
            said = re.sub(r"(token=|whsec_|msk?_)\S+", r"\1#", result.output.replace(pair.server, "SERVER"))
            said = said.replace("http://127.0.0.1:8080", "SERVER").replace(name, "NAME")
            told.append(f"{command} {result.exit_code} {timeless(said)}".replace(name, "NAME"))

    assert heard["far"] == heard["near"]


@ON_SQLITE
async def test_documents_are_applied_through_a_server_with_the_references_of_this_machine(
    pair: Pair, tmp_path: Path
) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(
        "endpoints: {health: {url: 'https://example.com/', every: 1m, headers: {X-Key: '${env:SHOP_TOKEN}'}}}\n"
        "alerts: {ops: {to: ops@example.com, endpoint: health}}\n"
        "maintenance: {night: {cron: 0 2 * * SUN, duration: 2h, endpoint: health}}\n"
        "calendars: {closed: {dates: 2090-12-24 Closed}}\n"
    )
    pair.far.env["SHOP_TOKEN"] = pair.near.env["SHOP_TOKEN"] = "s3cret"

    assert (await asyncio.to_thread(pair.far, "diff", str(file))).exit_code == 7
    assert (await pair.json("apply", str(file)))["counts"]["created"] == 5
    for command in (("apply", str(file)), ("diff", str(file)), ("export",), ("export", "--source", "shop")):
        near, far = await pair.both(*command)
        assert far == near, command
    assert "nothing to change" in (await asyncio.to_thread(pair.near, "apply", str(file))).output
    file.write_text("endpoints:\n  health:\n    url: https://example.com/\n    evry: 1m\n")
    near, far = await pair.both("apply", str(file))
    assert "evry" in far
    assert far == near
    crontab = "*/5 * * * * curl -H 'Authorization: Bearer x' https://shop.example.com/ping\n"
    taken = await asyncio.to_thread(pair.far, "import", "crontab", "-", "--apply", stdin=crontab)
    assert taken.exit_code == 0, taken.output
