"""A real server with as much in it as its routes can be asked for, and its event loop watched.

`World.fill` makes what the requests of `largest.py` and `worst.py` name: thousands of endpoints, jobs, runs, users,
keys and tenants, workflows as long as they may be, executions in every state, proposals, sessions of the model and
deliveries. What cannot be made quickly at the API is multiplied in the database.
"""

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime

from httpx2 import AsyncClient, Response
from msgspec.structs import replace

from mainspring.domain.advice.approval import propose_for_step
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.model.session import ModelSession, SessionDetail
from mainspring.domain.notify.delivery import Delivery, DeliveryStatus
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.notifications import Intake
from mainspring.ports.stores import Stores
from tests.api.acting import URL, Json
from tests.api.every import RANDOM, WAITS
from tests.api.worst import EXPRESSION, endpoints
from tests.harness.contained import LoopProbe
from tests.harness.pace import SHARED
from tests.harness.processes import Process
from tests.harness.waiting import until_true
from tests.stores.databases import is_sqlite, query

LONGEST_S = 0.1 * SHARED
AT_ONCE = 500
BINARY = "01021b1f7f80ffad0c08"  # ten bytes, each of which is spelled out
DOCUMENT_CHARS = 490_000  # of a workflow; 500,000 are allowed
BULKY = "name: bulky\nsteps:\n" + "".join(f"  - {{id: s{n}, set: {{x: 'input.text'}}}}\n" for n in range(100))
DIVIDES = "name: divides\nsteps:\n  - {id: a, set: {x: '1 / input.by'}}\n  - {id: b, end: done}\n"
ENDED = ("completed", "failed", "cancelled")


class Sizes:
    def __init__(self, *, is_long: bool) -> None:
        self.endpoints = 10_000 if is_long else 500
        self.runs = 3_000 if is_long else 200
        self.rows = 5_000 if is_long else 1_000  # of jobs, keys, users, members and tenants
        self.executions = 1_000 if is_long else 500
        self.large = 1_000 if is_long else 50  # executions with inputs as large as they may be
        self.versions = 50 if is_long else 2


class World:
    """`api` is an operator's key with every scope; `ids` names the largest thing of each kind."""

    def __init__(
        self, process: Process, probe: LoopProbe, api: AsyncClient, url: str, stores: Stores, sizes: Sizes
    ) -> None:
        self.process, self.probe, self.api, self.url, self.stores = process, probe, api, url, stores
        self.sizes = sizes
        self.ids: dict[str, str] = dict(RANDOM)
        self.slow: list[tuple[str, object, str]] = []
        self.turns: list[tuple[float, str]] = []  # the longest turn of each request

    async def fill(self) -> None:
        for first in range(0, self.sizes.endpoints, AT_ONCE):
            await self.make("/api/v1/config/apply", {"document": endpoints(AT_ONCE, first)})
        big = await self.make(
            "/api/v1/endpoints",
            {
                "name": "big",
                "url": URL,
                "every": "1h",
                "job": "big",
                "description": "Run faster when items grow.",
            },
        )
        await self.make("/api/v1/endpoints", {"name": "billing", "url": URL, "every": "1h", "job": "big"})
        await self.make(f"/api/v1/endpoints/{big['id']}/run", {})
        self.ids |= {"endpoint": big["id"], "job": "big", "tenant": "default"}
        self.ids["run"] = (await until_true(self._runs, "a run has ended"))[0]["id"]
        await self.multiply_runs()
        rules = [{"when": EXPRESSION, "interval": "1m", "name": f"r{n}"} for n in range(10)]
        for rule in rules:
            made = await self.make("/api/v1/rules", {"job": "big", "rule": rule})
        self.ids["rule_id"] = made["id"]
        self.ids["webhook"] = (await self.make("/api/v1/webhooks", {"url": URL, "types": ["run.missed"]}))["id"]
        alert = await self.make("/api/v1/alerts", {"name": "ops", "to": ["ops@example.com"]})
        self.ids["alert"] = alert["id"]
        window = await self.make("/api/v1/maintenance", {"name": "night", "cron": "0 2 29 2 *", "duration": "1h"})
        self.ids["window"] = window["id"]
        made = await self.make("/api/v1/calendars", {"name": "closed", "weekdays": ["sun"]})
        self.ids["calendar"] = made["id"]
        made = await self.make("/api/v1/connections", {"name": "door", "base_url": URL})
        self.ids["connection"] = made["id"]
        await self.fill_flows()
        await self.fill_planner()
        await self.fill_lists()

    async def fill_flows(self) -> None:
        await self.make("/api/v1/workflows", {"document": WAITS})
        await self.make("/api/v1/workflows", {"document": BULKY})
        await self.make("/api/v1/workflows", {"document": DIVIDES})
        for version in range(self.sizes.versions):
            await self.make("/api/v1/workflows", {"document": long_flow("long", version)})
        many = [{"correlation": "all", "input": {}} for _ in range(self.sizes.executions)]
        await self.make("/api/v1/workflows/waits/start-many", {"executions": many})
        large = {"correlation": "large", "input": {f"key {n}": n for n in range(4_000)}}
        for _ in range(self.sizes.large):
            await self.make("/api/v1/workflows/waits/start", large)
        self.ids |= {"workflow": "long", "version": "1", "execution": await self.start("long")}
        erased, bulky = await self.start("long"), await self.start("bulky", {"text": "x" * 60_000})
        self.ids |= {"erased": erased, "bulky": bulky}
        for verb in ("retry", "skip"):
            self.ids[verb] = await self.start("divides", {"by": 0})
        for verb in ("pause", "resume", "cancel"):
            self.ids[verb] = await self.start("waits")
        await self.make(f"/api/v1/executions/{self.ids['resume']}/pause", {"reason": "a test"})
        for name in ("execution", "erased", "bulky", "retry", "skip"):
            await self.until_status(name, *ENDED)
        await self.until_status("resume", "paused")

    async def fill_planner(self) -> None:
        now = await self.stores.schedule.now()
        endpoint_id = self.ids["endpoint"]

        detail = SessionDetail(reasoning="x" * 4_000)
        held = ModelSession(
            "ses_1",
            "default",
            endpoint_id,
            now,
            "done",
            "live",
            "m",
            1,
            1,
            1,
            1,
            now,
            0,
            detail,
        )
        await self.stores.sessions.record_session(held, "w", Event(EventType.PLANNER_ANALYSED, now, "default"))
        self.ids |= {"session": held.id, "proposal": await self.propose(endpoint_id)}
        sent = Delivery(
            "msg_1", "default", self.ids["webhook"], "", "1", "run.missed", json.dumps({"text": "x" * 60_000}),
            DeliveryStatus.DELIVERED, 1, now, now, now,
        )  # fmt: skip
        await self.stores.outbox.take_in(Intake((sent, replace(sent, id="msg_2", key="2"))))
        self.ids["delivery"] = sent.id

    async def propose(self, endpoint_id: str) -> str:
        def act(each: Endpoint, at: datetime) -> Change:
            return propose_for_step({"interval_ms": 600_000}, each, at, "exe_1", CRON)

        (change,) = await self.stores.endpoints.change_endpoints("default", [endpoint_id], act)
        return change.proposals[0].id

    async def fill_lists(self) -> None:
        """Lists that have no pages are answered as a whole."""
        rows = self.sizes.rows
        jobs = "jobs:\n" + "".join(f"  job-{n}: {{description: '{'x' * 150}'}}\n" for n in range(rows))
        await self.make("/api/v1/config/apply", {"document": jobs, "source": "jobs"})
        await self.make("/api/v1/tenants", {"id": "crowd-0"})
        key = await self.make("/api/v1/keys", {"name": "reader", "scopes": ["read"]})
        user = await self.make("/api/v1/users", {"email": "crowd@example.com", "tenant": "default", "role": "viewer"})
        self.ids |= {"key": key["id"], "user": user["user"]["id"]}
        await self.multiply("tenant", "id = 'crowd-0'", rows, "id")
        await self.multiply("api_key", f"id = '{key['id']}'", rows, "id")
        await self.multiply("account", f"id = '{user['user']['id']}'", rows, "id", "email")
        await self.multiply("member", f"account_id = '{user['user']['id']}'", rows, "account_id")

    async def start(self, workflow: str, given: Json | None = None) -> str:
        return str((await self.make(f"/api/v1/workflows/{workflow}/start", {"input": given or {}}))["id"])

    async def until_status(self, name: str, *statuses: str) -> None:
        async def is_reached() -> bool:
            found = (await self.api.get(f"/api/v1/executions/{self.ids[name]}")).json()
            return found["status"] in statuses

        await until_true(is_reached, f"execution {name!r} is {' or '.join(statuses)}", 300)

    async def _runs(self) -> list[Json]:
        found = (await self.api.get(f"/api/v1/runs?endpoint={self.ids['endpoint']}&status=failed")).json()
        return list(found["items"])

    async def multiply_runs(self) -> None:
        """Runs with bodies as large as a default endpoint keeps, for the routes that read many."""
        body = json.dumps({"items": [{"n": n, "text": "x" * 20} for n in range(400)]})
        value = f"CAST('{body}' AS BLOB)" if is_sqlite(self.url) else f"convert_to('{body}', 'UTF8')"
        await query(self.url, f"UPDATE run SET body = {value} WHERE id = '{self.ids['run']}'")
        await self.multiply("run", f"id = '{self.ids['run']}'", self.sizes.runs, "id")
        self.ids["binary"] = f"{self.ids['run']}_1"
        binary = "randomblob(10000000)" if is_sqlite(self.url) else f"decode(repeat('{BINARY}', 1000000), 'hex')"
        await query(self.url, f"UPDATE run SET body = {binary} WHERE id = '{self.ids['binary']}'")

    async def multiply(self, table: str, where: str, count: int, *distinct: str) -> None:
        """Copies of a row in one statement; the texts in `distinct` are followed by 1, 2, ..."""
        if is_sqlite(self.url):
            sql = f"SELECT name FROM pragma_table_info('{table}')"
        else:
            sql = f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'"
            sql += " AND is_generated = 'NEVER'"
        names = [str(name) for (name,) in await query(self.url, sql)]
        values = ", ".join(f"{name} || '_' || n" if name in distinct else name for name in names)
        series = f"WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count})"
        await query(
            self.url, f"{series} INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table}, s WHERE {where}"
        )

    async def make(self, path: str, body: Json) -> Json:
        """What the test is filled with is large itself: it is measured too."""
        await asyncio.to_thread(self.probe.clear)  # it cannot be tried again
        seconds, answer, where = await self.measured(self.api, "POST", path, json.dumps(body).encode(), {})
        assert answer.status_code < 300, (path, answer.text[:1_000])
        self.note(f"filling {path}", seconds, where)
        return dict(answer.json())

    async def measured(
        self, client: AsyncClient, method: str, path: str, content: bytes | None, headers: Mapping[str, str]
    ) -> tuple[float, Response, str]:
        await asyncio.to_thread(self.probe.longest)
        headers = {"Content-Type": "application/json", **headers} if content is not None else headers
        answer = await client.request(method, path, content=content, headers=headers, timeout=120)
        seconds, where = await asyncio.to_thread(self.probe.longest)
        return seconds, answer, where

    def note(self, what: str, seconds: float, where: str) -> None:
        self.turns.append((round(seconds, 3), what))
        if seconds > LONGEST_S:
            self.slow.append((what, round(seconds, 3), where))


def long_flow(name: str, version: int = 0) -> str:
    """As many steps as a workflow may have, and nearly as many characters."""
    padding = "x" * 380
    text = f"name: {name}\ndescription: version {version}\nsteps:\n" + "".join(
        f"  - {{id: s{n}, set: {{a: {n}, b: 'vars.a + {n}', c: 'size(\"{padding}\")'}}}}\n" for n in range(1_000)
    )
    assert len(text) < DOCUMENT_CHARS
    return text
