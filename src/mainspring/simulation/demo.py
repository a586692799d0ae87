"""The demo: a shop's sale day, built from public features: endpoints, rules, an alert, a workflow.

Everything uses the public operations; only time is different. `speed` divides every duration of the scenario, down to
the minimum of an endpoint, so that forty minutes pass in less than three.
"""

import asyncio
from collections.abc import Callable, Mapping
from itertools import count

from msgspec.structs import replace

from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import LIMIT_MS_MIN, EndpointConfig, with_inputs
from mainspring.domain.instant import rfc3339
from mainspring.domain.notify.subscription import AlertDraft, DestinationKind
from mainspring.domain.run import HttpAction
from mainspring.domain.schedule.hint import HINT_INTERVAL_MS_MIN
from mainspring.operations import endpoints
from mainspring.operations.alerts import add_alert
from mainspring.operations.context import Desk
from mainspring.operations.executions import send_event
from mainspring.operations.rules import add_rules, find_owner
from mainspring.operations.workflows import publish_workflow, start_execution
from mainspring.ports.notifications import Messenger
from mainspring.simulation.scenario import Scenario, ScenarioTarget, Span, load_scenario, milliseconds
from mainspring.simulation.shop import Received, Shop
from mainspring.views.view import JsonObject

SPEED = 15.0  # forty minutes in 2m40s, with every duration of the scenario still a whole number of seconds
BEGINS_AT = 3.5  # the first day starts shortly before its surge, so that something happens soon
RECOVERS_AT = 18.0  # three minutes earlier than the sale of `simulate`: visitors see the end within a minute
JOB, WORKFLOW = "flash-sale", "order-follow-up"
ORDER_EVERY_MINUTES = 2.0
REPLY_AFTER_MINUTES = 3.0
LEAST_MS = {"interval": HINT_INTERVAL_MS_MIN, "ttl": 5_000, "cooldown": 1_000, "pause": 1_000}
CHECKOUT = ScenarioTarget(every="1m", max="3m", group="health", takes="300ms", fails=(Span(13.0, RECOVERS_AT, 503),))
ABOUT = {
    "health": "Checks the shop all day, more often during the sale.",
    "investigation": "Sleeps until a rule wakes it, checks more closely while the shop is slow, and is put to "
    "sleep again.",
    "recovery": "Repairs: a rule runs it once per cooldown while it is needed.",
    "alert": "Alerts people: a rule runs it once per cooldown while the problem lasts.",
}


def demo_scenario() -> Scenario:
    """The flash sale of `mainspring simulate`, shortened, with a checkout that fails at the peak for the alert.

    Nothing fails at random: a failure outside the scenario would need an explanation.
    """
    sale = load_scenario("flash-sale")
    *before, recovery = sale.curve
    curve = (*before, {**recovery, "from": RECOVERS_AT})
    return replace(sale, curve=curve, fault_rate=0.0, endpoints={**sale.endpoints, "checkout": CHECKOUT})


async def furnish(desk: Desk, shop: Shop, messengers: Mapping[DestinationKind, Messenger]) -> None:
    for name, target in shop.scenario.endpoints.items():
        await endpoints.add_endpoint(desk, _config(name, target, shop))
        if target.asleep:
            await endpoints.pause_endpoint(
                desk, name, lambda now: None, "asleep until a rule wakes it", advice_may_resume=True
            )
    for name, target in shop.scenario.endpoints.items():
        rules = [_compressed(rule, shop.speed) for rule in target.rules]
        await add_rules(desk, await find_owner(desk, name, None), rules)
    draft = AlertDraft("pager", (f"{shop.url}/pager",), failures=2, job=JOB, cooldown_ms=_scaled("5m", shop.speed))
    await add_alert(desk, messengers, replace(draft, description="To the demo's own receiver, once per cooldown."))
    await publish_workflow(desk, _workflow(shop))


class Day:
    """Announces the phases of the shop's day, and places orders: each order is an execution of the workflow."""

    def __init__(self, desk: Desk, shop: Shop, tell: Callable[[str], None]) -> None:
        self._desk = desk
        self._shop = shop
        self._tell = tell
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        tasks = [asyncio.create_task(each) for each in (self._tell_phases(), self._tell_alerts(), self._order())]
        try:
            stopped = asyncio.create_task(self._stopped.wait())
            done, _ = await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def stop(self) -> None:
        self._stopped.set()

    async def _tell_phases(self) -> None:
        before: object = None
        day = 0
        while True:
            if self._shop.day != day:
                day = self._shop.day
                latest = await self._desk.stores.runs.latest_events(self._desk.tenant_id, 1)
                self._shop.since = latest[-1].cursor if latest else ""
            phase = self._shop.phase
            if phase.get("phase") != before:
                before = phase.get("phase")
                self._tell(f"{before}: {phase['visitors']} visitors a minute, pages in {phase['page_load_ms']} ms")
            await self._minutes(0.25)

    async def _tell_alerts(self) -> None:
        told: Received | None = None
        while True:
            latest = self._shop.received[-1] if self._shop.received else None
            if latest is not None and latest is not told:
                told = latest
                self._tell(f"alert: {latest.title}")
            await self._minutes(0.25)

    async def _order(self) -> None:
        for order in count(1_001):
            await start_execution(self._desk, WORKFLOW, {"order": order}, correlation=f"order-{order}")
            await self._minutes(REPLY_AFTER_MINUTES)
            if order % 3:
                await send_event(self._desk, f"order-{order}", "reply", {"rating": 1 if order % 5 == 0 else 5})
            await self._minutes(ORDER_EVERY_MINUTES)

    async def _minutes(self, minutes: float) -> None:
        await asyncio.sleep(max(minutes * 60 / self._shop.speed, 0.05))


def shop_shape(shop: Shop) -> JsonObject:
    """The progress of the day, for the web UI."""
    return {
        "name": shop.scenario.name,
        "description": shop.scenario.description,
        "speed": shop.speed,
        "day": shop.day,
        "since": shop.since,
        "minute": round(shop.minute, 3),
        "minutes": shop.scenario.minutes,
        "phases": [{**entry, "from": float(str(entry["from"]))} for entry in shop.scenario.curve],
        "endpoints": [{"name": name, "group": target.group} for name, target in shop.scenario.endpoints.items()],
        "messages": [
            {"at": rfc3339(each.at), "type": each.type, "title": each.title, "text": each.text}
            for each in reversed(shop.received)
        ],
    }


def _config(name: str, target: ScenarioTarget, shop: Shop) -> EndpointConfig:
    def ms(text: str | None, least_ms: int) -> int | None:
        return None if text is None else max(_scaled(text, shop.speed), least_ms)

    return with_inputs(
        EndpointConfig(name, HttpAction(f"{shop.url}/{name}"), job=JOB, spread=False),
        {
            "description": target.description or ABOUT.get(target.group, ""),
            "every": ms(target.every, LIMIT_MS_MIN),
            "min_interval": ms(target.min, LIMIT_MS_MIN),
            "max_interval": ms(target.max, LIMIT_MS_MIN),
            "backoff": target.backoff,
        },
    )


def _compressed(rule: Mapping[str, object], speed: float) -> dict[str, object]:
    def compressed(key: str, value: object) -> object:
        if key not in LEAST_MS or value == "forever":
            return value
        return format_duration(max(_scaled(str(value), speed), LEAST_MS[key]))

    return {key: compressed(key, value) for key, value in rule.items()}


def _scaled(text: str, speed: float) -> int:
    """In milliseconds; above a second rounded to tenths, for readability."""
    ms = round(milliseconds(text, "duration") / speed)
    return ms if ms < 1_000 else round(ms, -2)


def _workflow(shop: Shop) -> str:
    wait, patience = (format_duration(max(_scaled(text, shop.speed), 1_000)) for text in ("1m30s", "4m"))
    return f"""\
name: {WORKFLOW}
description: Confirm an order, ask for a rating, and escalate bad ratings.
input: {{order: integer}}
steps:
  - id: confirm
    call: {{url: "{shop.url}/orders/confirm", method: POST, body: {{order: "{{{{ input.order }}}}"}}}}
    retry: {{attempts: 3, delay: 2s}}
  - id: rest
    wait: {wait}
  - id: ask
    call: {{url: "{shop.url}/orders/ask", method: POST, body: {{order: "{{{{ input.order }}}}"}}}}
  - id: reply
    wait_for: {{event: reply, timeout: {patience}, on_timeout: silent}}
  - id: judge
    set: {{rating: steps.reply.result.data.rating}}
  - id: choose
    branch:
      cases: [{{when: vars.rating <= 2, goto: escalate}}]
      default: happy
  - id: escalate
    call: {{url: "{shop.url}/orders/support", method: POST, body: {{order: "{{{{ input.order }}}}"}}}}
    next: escalated
  - id: escalated
    end: escalated
  - id: silent
    end: silent
  - id: happy
    end: happy
"""
