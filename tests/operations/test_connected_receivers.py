"""Webhooks, alerts and workflow calls through connections: their requests, and what counts as a user."""

from collections.abc import Mapping
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.harness.config import a_config

from mainspring.domain.connection import Auth, ConnectionConfig, with_fields
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.domain.notify.delivery import hidden_parts
from mainspring.domain.notify.subscription import AlertDraft, Webhook, WebhookDraft
from mainspring.domain.run import Outcome, Request, RunStatus
from mainspring.operations.alerts import add_alert, edit_alert
from mainspring.operations.alerts import test_alert as send_alert
from mainspring.operations.calls import CallDraft, add_calls, cancel_call, find_call
from mainspring.operations.connections import (
    add_connection,
    connection_users,
    delete_connection,
    edit_connection,
    find_connection,
)
from mainspring.operations.context import Desk
from mainspring.operations.webhooks import add_webhook, draft_of, edit_webhook, find_webhook
from mainspring.operations.webhooks import test_webhook as send_webhook
from mainspring.operations.workflows import publish_workflow
from mainspring.outbound.signing import generate_secret
from mainspring.ports.workflows import Intent
from mainspring.workers.effects.handlers import CallHandler, action_of
from mainspring.workflow.log_records import request_of
from mainspring.workflow.model import Call

BASE = "https://billing.example.com/v1"
CONFIG = ConnectionConfig(BASE, auth=Auth.HEADER, header="X-Api-Key", secret="canary-Zq81")


class Recorder:
    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def call(self, request: Request) -> Outcome:
        self.asked.append(request)
        return Outcome(RunStatus.SUCCESS, 1, 200)

    async def aclose(self) -> None: ...


def a_draft(url: str, connection: str = "billing") -> WebhookDraft:
    return WebhookDraft(url, connection=connection, secret=generate_secret())


async def test_webhook_is_stored_as_a_path_and_sent_through_its_connection(desk: Desk) -> None:
    await add_connection(desk, "billing", CONFIG)
    made = await add_webhook(desk, a_draft(f"{BASE}/hooks?token=canary"))
    caller = Recorder()
    await send_webhook(desk, caller, made.id)

    assert made.name == "billing"
    assert isinstance(made.config, Webhook)
    assert (made.config.url, made.config.connection) == ("/hooks?••••", "billing")
    (asked,) = caller.asked
    assert (http_of(asked).url, http_of(asked).connection) == ("/hooks?token=canary", "billing")
    assert "token=canary" in asked.hidden
    assert draft_of(made).connection == "billing"


async def test_edit_of_a_webhook_keeps_its_url_for_the_same_connection_only(desk: Desk) -> None:
    await add_connection(desk, "billing", CONFIG)
    await add_connection(desk, "other", replace(CONFIG, base_url="https://other.example.com/"))
    await add_webhook(desk, replace(a_draft("/hooks?token=canary"), name="hook"))
    edited = await edit_webhook(desk, "hook", lambda draft: replace(draft, description="mine"))
    again = await edit_webhook(desk, "hook", lambda draft: replace(draft, url="/hooks?token=canary"))

    assert isinstance(edited.config, Webhook)
    assert isinstance(again.config, Webhook)
    assert edited.config.target == again.config.target
    with pytest.raises(InvalidInput, match="is the shown form of a URL"):
        await edit_webhook(desk, "hook", lambda draft: replace(draft, connection="other"))
    with pytest.raises(InvalidInput, match="does not exist"):
        await edit_webhook(desk, "hook", lambda draft: replace(draft, connection="gone"))
    with pytest.raises(InvalidInput, match="sends its credentials"):
        await edit_webhook(desk, "hook", lambda draft: replace(draft, url="https://evil.example.com/"))


async def test_receivers_follow_the_base_url(desk: Desk) -> None:
    await add_connection(desk, "billing", CONFIG)
    await add_webhook(desk, replace(a_draft("/hooks"), name="hook"))
    fields = {"base_url": "https://new.example.com/", "secret": "given again"}
    await edit_connection(desk, "billing", lambda config: with_fields(config, fields))
    caller = Recorder()
    await send_webhook(desk, caller, (await find_webhook(desk, "hook")).id)

    assert http_of(caller.asked[0]).url == "/hooks"


async def test_alert_is_sent_through_the_connection_of_its_destination(desk: Desk) -> None:
    await add_connection(desk, "billing", CONFIG)
    alert = await add_alert(desk, {}, AlertDraft("ops", to=("connection:billing/alerts/canary", "connection:billing")))
    caller = Recorder()
    outcomes = await send_alert(desk, caller, {}, "ops")

    assert [way.shown for way, _ in outcomes] == ["connection:billing/••••", "connection:billing"]
    assert [(http_of(each).url, http_of(each).connection) for each in caller.asked] == [
        ("/alerts/canary", "billing"),
        ("/", "billing"),
    ]
    with pytest.raises(InvalidInput, match="connection 'gone' does not exist") as refused:
        await edit_alert(desk, {}, alert.id, lambda draft: replace(draft, to=("connection:gone/x",)))
    assert refused.value.field == "to"


async def test_every_kind_of_user_keeps_its_connection(desk: Desk) -> None:
    made = await add_connection(desk, "billing", CONFIG)
    await add_webhook(desk, replace(a_draft("/hooks"), name="hook"))
    await add_alert(desk, {}, AlertDraft("ops", to=("connection:billing/alerts",)))
    document = "name: invoices\nsteps:\n  - {id: a, call: {connection: billing, url: /invoices, body: {a: 1}}}\n"
    await publish_workflow(desk, document)

    assert sorted((each.kind, each.name) for each in await connection_users(desk, made)) == [
        ("alert", "ops"), ("webhook", "hook"), ("workflow", "invoices"),
    ]  # fmt: skip
    with pytest.raises(Conflict, match="workflow 'invoices'"):
        await delete_connection(desk, "billing")


def an_intent(request: Mapping[str, object]) -> Intent:
    values = dict.fromkeys(Intent.__struct_fields__)
    known = {"tenant_id": "default", "execution_id": "exe_1", "key": "key", "attempt": 1, "timeout_ms": 1_000}
    return Intent(**(values | known | {"request": dict(request)}))  # type: ignore[arg-type]  # what is read of it


async def test_workflow_call_names_its_connection_and_its_path(desk: Desk) -> None:
    await add_connection(desk, "billing", CONFIG)
    kind, request = request_of(Call("a", url="/invoices", connection="billing"))
    caller = Recorder()
    ending, _ = await CallHandler(desk.stores, caller, desk.vault).run(an_intent(request))

    assert (kind, ending) == ("call", "success")
    assert (http_of(caller.asked[0]).url, http_of(caller.asked[0]).connection) == ("/invoices", "billing")


def test_log_of_a_call_without_a_connection_is_as_before() -> None:
    _, request = request_of(Call("a", url="https://example.com/"))

    assert set(request) == {"url", "method", "headers", "body", "accept_codes"}
    assert action_of(an_intent(request), frozenset()).connection == ""


def test_hidden_parts_of_a_path_are_its_own() -> None:
    assert hidden_parts("/hooks/abc?token=1") == ("hooks/abc", "abc", "token=1", "1")


async def test_names_of_connections_are_found_in_any_spelling(desk: Desk) -> None:
    made = await add_connection(desk, "caf\u00e9", CONFIG)

    assert await find_connection(desk, "cafe\u0301") == made


async def test_waiting_call_is_a_user_and_moves_with_the_base_url(desk: Desk) -> None:
    made = await add_connection(desk, "billing", ConnectionConfig(BASE))
    later = replace(
        a_config("call", "/invoices", connection="billing"),
        interval_ms=None,
        once_at=await desk.stores.schedule.now() + timedelta(hours=1),
    )
    ((placed),) = await add_calls(desk, [CallDraft(later, "order-7")])
    users = await connection_users(desk, made)
    base = {"base_url": "https://new.example.com/"}
    await edit_connection(desk, "billing", lambda config: with_fields(config, base))

    assert [(each.kind, each.name) for each in users] == [("call", "order-7")]
    assert http_of(await find_call(desk, "order-7")).url == "https://new.example.com/invoices"
    assert placed.call.host == "billing.example.com:443"
    with pytest.raises(Conflict, match="call 'order-7'"):
        await delete_connection(desk, "billing")
    await cancel_call(desk, "order-7")
    await delete_connection(desk, "billing")
