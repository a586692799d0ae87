"""No worker of `mainspring serve` holds its event loop: a crowd of subscribers, a large folder, a tool's largest call.

Measured is the longest turn of the loop of a real process, in processor time of its own thread.
"""

import asyncio
import json

import pytest
from httpx2 import AsyncClient
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from tests.api.acting import URL
from tests.api.crowded import LONGEST_S, World
from tests.api.test_worst_input import world
from tests.api.worst import EXPRESSION, endpoints
from tests.faults.conftest import Figures, figures, seed
from tests.harness.waiting import until_true
from tests.stores.databases import is_sqlite, query

__all__ = ["figures", "seed", "world"]

SUBSCRIBERS = 100  # of each kind: as many as a tenant may have
BODY_CHARS = 200_000  # of 256,000 bytes of a request
FAILING = 20  # endpoints: each finished run is a delivery for every webhook, and a state for every alert
RULES = [{"when": EXPRESSION, "interval": "30s", "name": f"rule {n}"} for n in range(50)]


async def test_notifier_with_as_many_subscribers_as_allowed_leaves_the_event_loop_free(
    world: World, figures: Figures, long_run: bool
) -> None:
    if not (long_run or is_sqlite(world.url)):
        pytest.skip("SQLite, which writes on the event loop, is the harder case; run it with --long")
    await world.make("/api/v1/config/apply", {"document": endpoints(FAILING)})
    for number in range(SUBSCRIBERS):
        hook = {"url": f"{URL}{number}", "name": f"hook {number}", "types": ["run.finished"]}
        await world.make("/api/v1/webhooks", hook)
        await world.make("/api/v1/alerts", {"name": f"alert {number}", "to": ["ops@example.com"], "failures": 1})
    await asyncio.to_thread(world.probe.clear)
    for number in range(FAILING):
        await world.api.post(f"/api/v1/endpoints/e{number}/run", json={})

    async def is_taken_in() -> bool:
        ((made,),) = await query(world.url, "SELECT COUNT(*) FROM delivery WHERE type = 'run.finished'")
        ((judged,),) = await query(world.url, "SELECT COUNT(*) FROM alert_state")
        return int(str(made)) >= FAILING * SUBSCRIBERS <= int(str(judged))

    await until_true(is_taken_in, "every subscriber has its deliveries", 300)
    seconds, where = await asyncio.to_thread(world.probe.longest)

    figures(longest_s=round(seconds, 3))
    assert seconds <= LONGEST_S, where


async def test_largest_calls_of_tools_leave_the_event_loop_free(world: World, figures: Figures) -> None:
    await world.make("/api/v1/config/apply", {"document": endpoints(500)})
    calls: list[tuple[str, dict[str, object]]] = [
        (
            "create_endpoint",
            {
                "name": "big",
                "url": URL,
                "every": "1h",
                "method": "POST",
                "description": "d" * 9_000,
                "body": "b" * BODY_CHARS,
            },
        ),
        ("edit_endpoint", {"endpoint": "big", "body": "c" * BODY_CHARS}),
        ("change_rules", {"endpoint": "big", "add": RULES}),
        ("get_planner", {"endpoint": "big"}),
        ("get_endpoint", {"endpoint": "big"}),
        ("list_endpoints", {"limit": 100}),
        ("list_events", {"limit": 100}),
        ("why", {"endpoint": "big"}),
    ]
    turns, refused = [], []
    headers = {"Authorization": world.api.headers["authorization"]}
    async with AsyncClient(headers=headers, timeout=120) as http:
        transport = streamable_http_client(f"{str(world.api.base_url).rstrip('/')}/mcp", http_client=http)
        async with Client(transport) as client:
            for tool, arguments in calls:
                await asyncio.to_thread(world.probe.clear)
                answer = await client.call_tool(tool, arguments)
                turns.append((*await asyncio.to_thread(world.probe.longest), tool))
                if answer.is_error:
                    refused.append((tool, json.dumps(answer.structured_content)[:300]))

    figures(longest_turns=sorted((round(seconds, 3), tool) for seconds, _, tool in turns)[-3:])
    assert refused == []
    assert [each for each in turns if each[0] > LONGEST_S] == []


async def test_many_streams_with_a_backlog_leave_the_event_loop_free(world: World, figures: Figures) -> None:
    if not is_sqlite(world.url):
        pytest.skip("what is measured is behind the database")
    await world.make("/api/v1/config/apply", {"document": endpoints(500)})
    first = (await world.api.get("/api/v1/events?start=oldest&limit=1")).json()["items"][0]["cursor"]
    await asyncio.to_thread(world.probe.clear)

    async def read() -> int:
        seen = 0
        query = {"cursor": first, "job": "default"}
        async with world.api.stream("GET", "/api/v1/events/stream", params=query) as answer:
            async for line in answer.aiter_lines():
                seen += line.startswith("data: ")
                if seen == 400:
                    break
        return seen

    assert await asyncio.gather(*[read() for _ in range(20)]) == [400] * 20
    seconds, where = await asyncio.to_thread(world.probe.longest)
    figures(longest_s=round(seconds, 3))
    assert seconds <= LONGEST_S, where
