"""Rules, sessions, the planner and back-tests through a server: what they print is what they print beside it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.model.session import ModelSession, SessionDetail, ToolCall
from mainspring.domain.run import Body
from mainspring.domain.schedule.changes import put_interval_hint
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.hint import IntervalHint
from mainspring.observe import Metrics
from mainspring.ports.endpoints import EndpointFilter
from mainspring.wiring.clock import SystemClock
from mainspring.workers.planner import Planner
from tests.cli.local_and_remote import Pair, open_pair, same
from tests.stores.world import an_outcome, change, claim, finished, get

RULES = (
    "- {name: busy, when: body.depth > 10, interval: 30s, ttl: 2m}\n- {when: failures > 2, run: now, target: other}\n"
)


def a_session(endpoint_id: str) -> ModelSession:
    now = SystemClock().now()
    detail = SessionDetail((ToolCall("propose_interval", {"interval_ms": 30_000}, "done"),), "it is busy", "", "high")
    return ModelSession("ses_1", "default", endpoint_id, now, "done", "live", "m", 100, 20, 2_500, 40, now, 0, detail)


async def look(endpoint: Endpoint) -> ModelSession:
    return a_session(endpoint.id)


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with open_pair(tmp_path, look=look) as opened:
        yield opened


@pytest.mark.parametrize("status", ["failed", "skipped"])
async def test_look_that_was_none_is_shown_and_exits_with_1(tmp_path: Path, status: str) -> None:
    async def fail(endpoint: Endpoint) -> ModelSession:
        return replace(a_session(endpoint.id), status=status, detail=SessionDetail(note="the model is away"))

    async with open_pair(tmp_path, look=fail) as pair:
        await pair.json("endpoint", "add", "queue", "--url", "https://example.com/", "--every", "1h")
        looked = await asyncio.to_thread(pair.far, "planner", "look", "queue")

    assert looked.exit_code == 1
    assert "the model is away" in looked.stdout


async def test_rules_sessions_and_backtests_are_shown_the_same(pair: Pair, tmp_path: Path) -> None:
    rules, wrong = tmp_path / "rules.yaml", tmp_path / "wrong.yaml"
    rules.write_text(RULES)
    wrong.write_text("- {when: body.depth >, interval: 30s}\n")
    for name in ("queue", "other"):
        await pair.json("endpoint", "add", name, "--url", "https://example.com/", "--every", "1h", "--no-spread")
    batch = await claim(pair.stores)
    body = Body(b'{"depth": 20}', "application/json", False, 13)
    await pair.stores.schedule.finish([finished(each, an_outcome(body=body)) for each in batch.claims])
    seen = await pair.json("planner", "look", "queue")
    session = a_session(seen["endpoint_id"])
    event = Event(EventType.PLANNER_ANALYSED, session.started_at, "default")
    await pair.stores.sessions.record_session(session, "w", event)
    added = await pair.json("rules", "add", "queue", "--file", str(rules))

    assert [each["rule"]["name"] for each in added] == ["busy", "rule-1"]
    assert {each["endpoint"] for each in await pair.json("rules", "test", "queue")} == {"queue", "other"}
    assert (seen["endpoint"], seen["reasoning"]) == ("queue", "it is busy")
    shown: list[tuple[str, ...]] = [
        ("rules", "check", str(rules)),
        ("rules", "check", str(rules), "--endpoint", "queue"),
        ("rules", "list"),
        ("rules", "list", "queue"),
        ("rules", "test", "queue"),
        ("rules", "test", "queue", "--when", "body.depth > 30"),
        ("backtest", "queue"),
        ("backtest", "queue", "--no-rules", "--every", "10m"),
        ("sessions", "list"),
        ("sessions", "list", "other"),
        ("sessions", "show", "ses_1"),
        ("planner", "mode"),
        ("planner", "mode", "tenant", "shadow"),
        ("planner", "mode", "queue", "off"),
    ]
    for command in shown:
        await same(pair, *command)
    for command in (
        ("rules", "check", str(wrong)),
        ("rules", "add", "queue", "--when", "body.depth > 1", "--interval", "soon"),
        ("rules", "add", "nope", "--when", "true", "--run", "now"),
        ("rules", "remove", "queue", "bussy"),
        ("backtest", "nope"),
        ("sessions", "show", "ses_2"),
        ("sessions", "list", "nope"),
        ("planner", "mode", "queue", "loud"),
        ("simulate",),
    ):
        near, far = await pair.both(*command)
        assert far == near, command


async def test_proposals_are_listed_approved_and_rejected_here_and_through_a_server(pair: Pair) -> None:
    names = ("one", "two", "three")
    for name in names:
        await pair.json("endpoint", "add", name, "--url", "https://example.com/", "--every", "1h", "--no-spread")
        await pair.json("planner", "mode", name, "ask")
        await pair.json("rules", "add", name, "--when", "ok", "--interval", "30s", "--ttl", "10m", "--reason", "busy")
    batch = await claim(pair.stores)
    await pair.stores.schedule.finish([finished(each, an_outcome()) for each in batch.claims])
    planner = Planner(pair.stores.planner, Metrics(), "planner")
    while await planner.run_once():
        pass
    listed = await pair.json("proposals", "list")
    ids = {each["endpoint"]: each["id"] for each in listed}

    for command in (
        ("proposals", "list"),
        ("proposals", "list", "one", "--state", "all"),
        ("proposals", "list", "--state", "approved"),
        ("proposals", "show", ids["one"]),
        ("why", "one"),
    ):
        await same(pair, *command)
    for command in (
        ("proposals", "list", "nope"),
        ("proposals", "list", "--state", "lost"),
        ("proposals", "show", "prop_1"),
        ("proposals", "approve", "prop_1"),
        ("proposals", "reject", "prop_1"),
    ):
        near, far = await pair.both(*command)
        assert far == near, command
    doctor = await asyncio.to_thread(pair.near, "doctor")
    (approved,) = await pair.json("proposals", "approve", ids["one"])
    rejected = await asyncio.to_thread(pair.far, "proposals", "reject", ids["two"], ids["three"], "--reason", "not now")
    again = await asyncio.to_thread(pair.near, "proposals", "approve", ids["one"])

    assert {each["does"] for each in listed} == {"every 30s for 10m"}
    assert "3 proposals wait for a decision; nothing is applied until then" in doctor.stdout
    assert (approved["state"], approved["author"]) == ("approved", "rule:rule-1")
    assert rejected.stdout.splitlines() == [
        f"rejected: every 30s for 10m of {name!r}, proposed by rule:rule-1" for name in ("two", "three")
    ]
    assert (again.exit_code, "is approved since" in again.stderr) == (4, True)
    left = await pair.json("proposals", "list", "--state", "all")
    assert {each["endpoint"]: (each["state"], each["note"]) for each in left} == {
        "one": ("approved", None),
        "two": ("rejected", "not now"),
        "three": ("rejected", "not now"),
    }


async def test_rules_are_removed_through_a_server(pair: Pair, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    for name in ("queue", "other"):
        await pair.json("endpoint", "add", name, "--url", "https://example.com/", "--every", "1h")
    await pair.json("rules", "add", "queue", "--file", str(rules))

    assert await pair.json("rules", "remove", "queue", "busy") == ["busy"]
    assert await pair.json("rules", "remove", "queue", "--all") == ["rule-1"]
    assert await pair.json("rules", "list") == []


async def test_what_a_server_cannot_do_is_refused(pair: Pair) -> None:
    await pair.json("endpoint", "add", "queue", "--url", "https://example.com/", "--every", "1h")

    report = await asyncio.to_thread(pair.far, "backtest", "queue", "--report", "page.html")
    draft = await asyncio.to_thread(pair.far, "rules", "draft", "queue")

    assert (report.exit_code, draft.exit_code) == (1, 4)
    assert "--report works on the database host" in report.output
    assert "no model is configured" in draft.output


@pytest.mark.parametrize("scope", ["queue", "tenant"])
async def test_switch_offers_to_undo_what_advice_has_in_force_and_undoes_it(pair: Pair, scope: str) -> None:
    hint = IntervalHint(30_000, SystemClock().now() + timedelta(hours=1), "busy", "rule:busy")
    for side in (pair.near, pair.far):
        await pair.json("endpoint", "add", "queue", "--url", "https://example.com/", "--every", "1h")
        (queue,) = await pair.stores.endpoints.endpoints("default", EndpointFilter())
        await change(pair.stores, queue, lambda each, now: put_interval_hint(each, hint, now, CRON))

        off = await asyncio.to_thread(side, "planner", "mode", scope, "off")
        undone = await asyncio.to_thread(side, "planner", "mode", scope, "off", "--undo")

        assert f"undo it with `mainspring planner mode {scope} off --undo`" in off.stderr
        assert "undid advice on 1 endpoint" in undone.stderr
        assert (await get(pair.stores, queue)).interval_hint is None
        await pair.json("endpoint", "delete", "queue", "--yes")
