"""Who came in, and with which keys, is for the owners of a tenant: in lists, in streams, by webhooks, to assistants."""

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient

from mainspring.domain.notify.event_filter import CONFIDENTIAL, check_types, is_sent, names_confidential
from mainspring.ports.stores import Stores
from tests.api.acting import URL
from tests.api.app import client_of
from tests.stores.world import told

KEY = {"name": "reader", "scopes": ["read"]}


async def seen_by(app: FastAPI, scopes: str) -> set[str]:
    async with client_of(app, scopes=scopes) as client:
        events = (await client.get("/api/v1/events")).json()["items"]
    return {event["type"] for event in events}


async def test_key_that_was_made_is_told_to_an_admin_and_not_to_a_reader(
    app: FastAPI, api: AsyncClient, stores: Stores
) -> None:
    await api.post("/api/v1/keys", json=KEY)
    await api.post("/api/v1/jobs", json={"name": "another"})
    await told(stores)

    assert await seen_by(app, "read") == {"job.created"}
    assert await seen_by(app, "read write run") == {"job.created"}
    assert await seen_by(app, "read admin") == {"job.created", "api_key.created"}


@pytest.mark.parametrize("types", [["api_key.created"], ["api_key.*"], ["api_key"], ["run.*", "login.failed"]])
async def test_webhook_for_security_events_is_made_and_changed_by_an_admin_alone(
    app: FastAPI, api: AsyncClient, types: list[str]
) -> None:
    async with client_of(app, scopes="read write") as writer:
        refused = await writer.post("/api/v1/webhooks", json={"url": URL, "types": types})
        made = await api.post("/api/v1/webhooks", json={"url": URL, "name": "siem", "types": types})
        redirected = await writer.patch("/api/v1/webhooks/siem", json={"url": f"{URL}elsewhere"})
        own = await writer.post("/api/v1/webhooks", json={"url": URL, "name": "own", "types": ["*"]})
        widened = await writer.patch("/api/v1/webhooks/own", json={"types": types})

    assert (made.status_code, own.status_code) == (201, 201)
    assert [answer.status_code for answer in (refused, redirected, widened)] == [403, 403, 403]
    assert "does not have the scope admin" in refused.json()["detail"]


def test_all_events_are_all_but_those_that_must_be_named() -> None:
    everything = check_types(["*"])
    both = check_types(["*", "api_key"])

    assert not names_confidential(everything)
    assert [each for each in CONFIDENTIAL if is_sent(each, everything)] == []
    assert is_sent("run.finished", everything)
    assert is_sent("api_key.created", both)
    assert is_sent("run.finished", both)
    assert not is_sent("login.failed", both)


async def test_quotas_are_changed_by_an_operator_of_the_installation_and_not_by_an_owner(
    app: FastAPI, api: AsyncClient
) -> None:
    async with client_of(app) as owner:
        refused = await owner.patch("/api/v1/quotas", json={"runs_per_month": None})
    changed = await api.patch("/api/v1/quotas", json={"runs_per_month": 7})

    assert refused.status_code == 403
    assert refused.json()["detail"] == (
        "this is for operators of the installation, and key:test is not one; "
        "ask one of them, or for a key created with `mainspring apikey create --operator`"
    )
    assert changed.json()["runs_per_month"] == 7
