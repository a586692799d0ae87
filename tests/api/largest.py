"""The largest request that each operation accepts, with real ids, and what has to be made before so that it is.

A method has the name of its operation. An operation without a method has no body, and a query that asks
for as much as it may (`worst.largest_query`); its path names what `crowded.World` holds most of. Accounts are in
`largest_accounts.py`.
"""

import json
from collections.abc import Mapping

from httpx2 import AsyncClient

from mainspring.domain.event import EventType
from tests.api.acting import URL, Json
from tests.api.crowded import World, long_flow
from tests.api.every import WAITS, Operation
from tests.api.worst import EXPRESSION, largest_query, path_of

NAME = "n" * 90
DESCRIPTION = "d" * 10_000
REASON = "r" * 1_000
RULES = [{"when": EXPRESSION, "interval": "30s", "name": f"rule {n}", "reason": REASON} for n in range(50)]
SCENARIO = (
    f"name: long\ndescription: {'x' * 90_000}\nminutes: 5\nendpoints:\n"
    + "".join(f"  e{n}: {{every: 1m}}\n" for n in range(100))
)  # fmt: skip
# Answered with an error, whatever is sent: the largest request that is refused is what is measured.
REFUSED: dict[str, str] = {}


class Asked:
    """One request: who sends it, and what differs from the path of its operation."""

    def __init__(
        self,
        body: object = None,
        *,
        ids: Mapping[str, str] | None = None,
        query: str | None = None,
        client: AsyncClient | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.content = None if body is None else json.dumps(body).encode()
        self.ids, self.query, self.client, self.headers = ids or {}, query, client, headers or {}


class LargestWork:
    def __init__(self, world: World, site: str) -> None:
        self.world, self.site = world, site
        self.api = world.api
        self.clients: list[AsyncClient] = []
        self.number = 0

    async def of(self, operation: Operation) -> tuple[AsyncClient, str, Asked]:
        """Who asks, the path with its query, and the rest."""
        prepare = getattr(self, operation.id, None)
        asked = Asked() if prepare is None else await prepare()
        ids = {**self.world.ids, **asked.ids}
        query = largest_query(operation).format(**ids) if asked.query is None else asked.query
        return asked.client or self.api, path_of(operation, ids) + query, asked

    async def aclose(self) -> None:
        for client in self.clients:
            await client.aclose()

    # What requests are made from.

    def name(self) -> str:
        self.number += 1
        return f"{NAME} {self.number}"

    async def post(self, path: str, body: Json | None = None) -> Json:
        answer = await self.api.post(f"/api/v1{path}", json={} if body is None else body)
        assert answer.status_code < 300, (path, answer.text)
        return dict(answer.json())

    async def an_endpoint(self) -> dict[str, str]:
        return {"endpoint": (await self.post("/endpoints", self.endpoint()))["id"]}

    def endpoint(self) -> Json:
        return {
            "name": self.name(),
            "url": URL + "u" * 2_000,
            "method": "POST",
            "description": DESCRIPTION,
            "headers": [{"name": f"X-{'h' * 200}-{n}", "value": "v" * 2_000} for n in range(50)],
            "body": "b" * 400_000,
            "cron": ",".join(str(n) for n in range(60)) + " * * * *",
            "timezone": "America/Argentina/ComodRivadavia",
            "accept_codes": list(range(400, 500)),
            "condition": EXPRESSION[:1_990].rpartition(" || ")[0],
            "redirects_max": 5,
            "body_cap": 10_000_000,
        }

    # Jobs and endpoints.

    async def create_job(self) -> Asked:
        return Asked({"name": self.name(), "description": DESCRIPTION})

    async def update_job(self) -> Asked:
        return Asked({"description": DESCRIPTION})

    async def archive_job(self) -> Asked:
        return Asked(ids={"job": (await self.post("/jobs", {"name": self.name()}))["id"]})

    async def create_calls(self) -> Asked:
        each = {"url": URL, "at": "in 1h", "method": "POST", "body": "b" * 300}
        return Asked({"calls": [each | {"key": f"{self.name()} {n}"} for n in range(2_000)]})

    async def read_call(self) -> Asked:
        return Asked(ids=await self.a_call())

    async def cancel_call(self) -> Asked:
        return Asked(ids=await self.a_call())

    async def a_call(self) -> dict[str, str]:
        made = await self.post("/calls", {"calls": [{"url": URL, "at": "in 1h"}]})
        return {"call": made["items"][0]["id"]}

    async def create_endpoint(self) -> Asked:
        return Asked(self.endpoint())

    async def check_endpoint(self) -> Asked:
        return Asked(self.endpoint())

    async def update_endpoint(self) -> Asked:
        return Asked(self.endpoint(), ids=await self.an_endpoint())

    async def delete_endpoint(self) -> Asked:
        ids = await self.an_endpoint()
        await self.post(f"/endpoints/{ids['endpoint']}/archive")
        return Asked(ids=ids)

    async def archive_endpoint(self) -> Asked:
        return Asked(ids=await self.an_endpoint())

    async def create_ping_url(self) -> Asked:
        heartbeat = {"name": self.name(), "kind": "heartbeat", "every": "1d"}
        return Asked(ids={"endpoint": (await self.post("/endpoints", heartbeat))["id"]})

    async def revoke_ping_url(self) -> Asked:
        asked = await self.create_ping_url()
        await self.post(f"/endpoints/{asked.ids['endpoint']}/ping-url")
        return asked

    async def pause_endpoint(self) -> Asked:
        return Asked({"duration": "366d", "reason": REASON}, ids=await self.an_endpoint())

    async def put_interval_hint(self) -> Asked:
        return Asked({"every": "10s", "ttl": "24h", "reason": REASON})

    async def put_one_shot_hint(self) -> Asked:
        return Asked({"after": "12h", "ttl": "24h", "reason": REASON})

    async def list_recent_runs(self) -> Asked:
        found = (await self.api.get("/api/v1/endpoints?limit=50")).json()["items"]
        return Asked(query="?limit=50&" + "&".join(f"endpoint={each['id']}" for each in found))

    async def read_run(self) -> Asked:
        return Asked(ids={"run": self.world.ids["binary"]})

    async def read_body(self) -> Asked:
        return Asked(ids={"run": self.world.ids["binary"]})

    async def download_body(self) -> Asked:
        return Asked(ids={"run": self.world.ids["binary"]})

    async def act_on_endpoints(self) -> Asked:
        return Asked({"verb": "pause", "ids": await self.endpoint_ids(), "reason": REASON, "duration": "1h"})

    async def archive_endpoints(self) -> Asked:
        return Asked({"ids": await self.endpoint_ids()})

    async def endpoint_ids(self) -> list[str]:
        found: list[str] = []
        cursor = ""
        while len(found) < 500:
            page = (
                await self.api.get(
                    "/api/v1/endpoints",
                    params={"job": "default", "limit": 200, **({"cursor": cursor} if cursor else {})},
                )
            ).json()
            found += [each["id"] for each in page["items"]]
            cursor = page["next_cursor"]
        return found[:500]

    # Rules, the planner and simulations.

    async def create_rule(self) -> Asked:
        return Asked({"endpoint": "billing", "rule": RULES[0]})

    async def update_rule(self) -> Asked:
        return Asked({"rule": RULES[0]})

    async def delete_rule(self) -> Asked:
        return Asked(ids={"rule_id": (await self.post("/rules", {"endpoint": "billing", "rule": RULES[1]}))["id"]})

    async def check_rules(self) -> Asked:
        return Asked({"endpoint": "big", "rules": RULES, "limit": 1_000})

    async def test_rules(self) -> Asked:
        return Asked({"endpoint": "big", "rules": RULES, "limit": 20})  # each is judged by all of them: 2 ms

    async def draft_rules(self) -> Asked:
        return Asked({"endpoint": "big"})

    async def run_backtest(self) -> Asked:
        return Asked({"endpoint": "big", "rules": RULES, "limit": 50_000})

    async def set_tenant_mode(self) -> Asked:
        return Asked({"mode": "live", "undo": True})

    async def set_mode_for_all(self) -> Asked:
        return Asked({"mode": "live", "undo": True})

    async def set_endpoint_mode(self) -> Asked:
        return Asked({"mode": "off", "undo": True})

    async def approve_proposal(self) -> Asked:
        return Asked(ids={"proposal": await self.world.propose((await self.an_endpoint())["endpoint"])})

    async def reject_proposal(self) -> Asked:
        return Asked(
            {"reason": REASON}, ids={"proposal": await self.world.propose((await self.an_endpoint())["endpoint"])}
        )

    async def look_at_endpoint(self) -> Asked:
        return Asked(ids=await self.an_endpoint())

    async def run_simulation(self) -> Asked:
        return Asked({"document": SCENARIO})

    async def read_simulation(self) -> Asked:
        return Asked(ids={"scenario": "flash-sale"})

    # Workflows and executions.

    async def publish_workflow(self) -> Asked:
        self.number += 1
        return Asked({"document": long_flow("long", 10_000 + self.number)})

    async def check_workflow(self) -> Asked:
        return Asked({"document": long_flow("unsaved")})

    async def simulate_workflow(self) -> Asked:
        events = [{"after": n, "type": "go", "data": {"text": "x" * 100}} for n in range(1_000)]
        return Asked({"document": WAITS, "events": events, "input": {"text": "x" * 60_000}})

    async def diff_workflow(self) -> Asked:
        return Asked(query="?old=1&new=2")

    async def replay_workflow(self) -> Asked:
        return Asked({"document": long_flow("long", 7), "limit": 200})

    async def replay_execution(self) -> Asked:
        return Asked({"document": long_flow("long", 8)})

    async def archive_workflow(self) -> Asked:
        await self.post("/workflows", {"document": WAITS.replace("waits", "archived")})
        return Asked(ids={"workflow": "archived"})

    async def restore_workflow(self) -> Asked:
        await self.post("/workflows", {"document": WAITS.replace("waits", "restored")})
        await self.post("/workflows/restored/archive")
        return Asked(ids={"workflow": "restored"})

    async def start_execution(self) -> Asked:
        return Asked(
            {"input": {f"key {n}": n for n in range(3_000)}, "correlation": "c" * 100}, ids={"workflow": "waits"}
        )

    async def start_executions(self) -> Asked:
        each = {"input": {"text": "x" * 400}, "correlation": "c" * 90}
        return Asked({"executions": [each] * 1_000}, ids={"workflow": "waits"})

    async def send_event(self) -> Asked:
        return Asked({"to": "large", "type": "other", "data": {f"key {n}": n for n in range(3_000)}})

    async def send_events(self) -> Asked:
        each = {"to": self.world.ids["cancel"], "type": "other", "data": {"text": "x" * 400}}
        return Asked({"events": [each | {"id": str(n)} for n in range(1_000)]})

    async def order_executions(self) -> Asked:
        return Asked({"verb": "pause", "workflow": "waits", "reason": REASON, "limit": 10_000})

    async def read_execution(self) -> Asked:
        return Asked(ids={"execution": self.world.ids["bulky"]})

    async def list_log(self) -> Asked:
        return Asked(ids={"execution": self.world.ids["bulky"]})

    async def list_timeline(self) -> Asked:
        return Asked(ids={"execution": self.world.ids["bulky"]})

    async def read_state(self) -> Asked:
        return Asked(ids={"execution": self.world.ids["bulky"]})

    async def export_execution(self) -> Asked:
        return Asked(ids={"execution": self.world.ids["bulky"]})

    async def verify_execution(self) -> Asked:
        return Asked(ids={"execution": self.world.ids["bulky"]})

    async def ordered(self, verb: str) -> Asked:
        return Asked({"reason": REASON}, ids={"execution": self.world.ids[verb]})

    async def pause_execution(self) -> Asked:
        return await self.ordered("pause")

    async def resume_execution(self) -> Asked:
        return await self.ordered("resume")

    async def cancel_execution(self) -> Asked:
        return await self.ordered("cancel")

    async def retry_execution(self) -> Asked:
        return await self.ordered("retry")

    async def skip_execution(self) -> Asked:
        return await self.ordered("skip")

    async def erase_execution(self) -> Asked:
        return await self.ordered("erased")

    async def verify_partitions(self) -> Asked:
        kept = (await self.api.get("/api/v1/partitions/checkpoints")).json()["checkpoints"]
        return Asked({"partition": 0, "checkpoints": (kept * 600)[:600]})

    # Webhooks, alerts, documents and the tenant.

    async def create_webhook(self) -> Asked:
        types = [each.value for each in EventType]
        url = "https://example.com/" + "u" * 2_000
        return Asked({"url": url, "name": self.name(), "types": types, "description": REASON})

    async def update_webhook(self) -> Asked:
        return Asked({"types": [each.value for each in EventType], "description": REASON, "new_secret": True})

    async def delete_webhook(self) -> Asked:
        return Asked(ids={"webhook": (await self.post("/webhooks", {"url": URL, "name": self.name()}))["id"]})

    def connection(self) -> Json:
        return {"base_url": URL, "auth": "header", "header": "X-" + "k" * 200, "secret": "s" * 8_000,
                "description": REASON}  # fmt: skip

    async def create_connection(self) -> Asked:
        return Asked(self.connection() | {"name": self.name()})

    async def update_connection(self) -> Asked:
        return Asked(self.connection())

    async def delete_connection(self) -> Asked:
        made = await self.post("/connections", {"base_url": URL, "name": self.name()})
        return Asked(ids={"connection": made["id"]})

    async def test_connection(self) -> Asked:
        return Asked({"path": "/" + "p" * 1_500})

    async def redeliver_delivery(self) -> Asked:
        return Asked(ids={"delivery": "msg_2"})

    def alert(self) -> Json:
        to = [f"{n}@{'example.' * 25}com" for n in range(10)]
        return {"name": self.name(), "to": to, "description": REASON, "cooldown": "7d", "failures": 1_000}

    async def create_alert(self) -> Asked:
        return Asked(self.alert())

    async def update_alert(self) -> Asked:
        return Asked(self.alert())

    async def delete_alert(self) -> Asked:
        return Asked(ids={"alert": (await self.post("/alerts", self.alert()))["id"]})

    def calendar(self) -> Json:
        dates = [f"{2000 + n // 300}-{n // 25 % 12 + 1:02d}-{n % 25 + 1:02d} {'x' * 80}" for n in range(1_000)]
        weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        rule = "BEGIN:VEVENT\r\nUID:{n}\r\nDTSTART;VALUE=DATE:20200101\r\nRRULE:FREQ=DAILY\r\nEND:VEVENT\r\n"
        ics = "BEGIN:VCALENDAR\r\n" + "".join(rule.replace("{n}", str(n)) for n in range(7)) + "END:VCALENDAR\r\n"
        return {"dates": dates, "weekdays": weekdays, "holidays": "DE-BY", "ics": ics, "description": REASON}

    async def create_calendar(self) -> Asked:
        return Asked(self.calendar() | {"name": self.name()})

    async def update_calendar(self) -> Asked:
        return Asked(self.calendar())

    async def preview_calendar(self) -> Asked:
        return Asked(query="?days=3660")

    async def delete_calendar(self) -> Asked:
        made = await self.post("/calendars", {"name": self.name(), "weekdays": ["sun"]})
        return Asked(ids={"calendar": made["id"]})

    def window(self) -> Json:
        return {"name": self.name(), "cron": "0 2 * * *", "duration": "1h", "description": REASON}

    async def create_maintenance(self) -> Asked:
        return Asked(self.window())

    async def update_maintenance(self) -> Asked:
        return Asked(self.window())

    async def delete_maintenance(self) -> Asked:
        return Asked(ids={"window": (await self.post("/maintenance", self.window()))["id"]})

    async def apply_config(self) -> Asked:
        text = "endpoints:\n" + "".join(f"  new-{n}: {{url: '{URL}{n}', every: 1h}}\n" for n in range(2_000))
        return Asked({"document": text, "source": "largest"}, query="?dry_run=true")

    async def update_quotas(self) -> Asked:
        return Asked({"runs_per_month": 10**15, "endpoints_max": 10**15})

    async def create_tenant(self) -> Asked:
        self.number += 1
        return Asked({"id": f"tenant-{self.number}", "name": self.name()})

    async def update_tenant(self) -> Asked:
        return Asked({"name": self.name(), "runs_per_month": 10**15})
