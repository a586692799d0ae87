"""Webhooks and alerts by the API: made, changed, tested, deleted; secrets are shown once and addresses never."""

import json
from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient

from mainspring.domain.notify.delivery import Delivery, DeliveryStatus
from mainspring.ports.notifications import Intake
from mainspring.ports.stores import Stores
from tests.peers.hostile import HostilePeer
from tests.stores.world import START

Json = dict[str, object]


@pytest.fixture
async def peer() -> AsyncIterator[HostilePeer]:
    async with HostilePeer() as running:
        yield running


async def make_webhook(api: AsyncClient, url: str = "https://example.com/hook", **fields: object) -> Json:
    answer = await api.post("/api/v1/webhooks", json={"url": url, **fields})
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def make_alert(api: AsyncClient, *to: str, **fields: object) -> Json:
    answer = await api.post("/api/v1/alerts", json={"name": "ops", "to": list(to) or ["ops@example.com"], **fields})
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def test_secret_of_a_webhook_is_shown_once(api: AsyncClient) -> None:
    made = await make_webhook(api, types=["run.*"])
    read = (await api.get(f"/api/v1/webhooks/{made['name']}")).json()

    assert str(made["secret"]).startswith("whsec_")
    assert "secret" not in read
    assert (read["name"], read["types"], read["enabled"]) == ("example.com", ["run.*"], True)
    assert (await api.get("/api/v1/webhooks")).json()["items"] == [read]


async def test_webhook_is_changed_where_nobody_changed_it_meanwhile(api: AsyncClient) -> None:
    made = await make_webhook(api)
    path = f"/api/v1/webhooks/{made['id']}"
    changed = await api.patch(path, json={"enabled": False, "new_secret": True}, headers={"If-Match": '"v1"'})
    outdated = await api.patch(path, json={"enabled": True}, headers={"If-Match": '"v1"'})

    assert (changed.json()["enabled"], changed.headers["etag"]) == (False, '"v2"')
    assert changed.json()["secret"] not in (None, made["secret"])
    assert outdated.status_code == 412


async def test_webhook_is_tested_and_deleted(api: AsyncClient, peer: HostilePeer) -> None:
    made = await make_webhook(api, peer.url("/answer?status=500+Broken&body=oops"))
    tried = (await api.post(f"/api/v1/webhooks/{made['id']}/test")).json()
    deleted = await api.delete(f"/api/v1/webhooks/{made['id']}")

    assert (tried["ok"], tried["status_code"], tried["response"]) == (False, 500, "oops")
    assert deleted.json() == {"id": made["id"], "name": made["name"], "deleted": True}
    assert (await api.get(f"/api/v1/webhooks/{made['id']}")).status_code == 404


async def test_deliveries_are_listed_read_and_sent_again(api: AsyncClient, stores: Stores) -> None:
    made = await make_webhook(api)
    payload = json.dumps({"type": "run.missed", "data": {}})
    kept = [
        Delivery(
            f"msg_{number}", "default", str(made["id"]), "", str(number), "run.missed", payload,
            DeliveryStatus.DELIVERED, 1, START, START, START,
        )
        for number in range(3)
    ]  # fmt: skip
    await stores.outbox.take_in(Intake(tuple(kept)))
    first = (await api.get(f"/api/v1/webhooks/{made['id']}/deliveries?limit=2")).json()
    rest = (await api.get(f"/api/v1/webhooks/{made['id']}/deliveries?limit=2&cursor={first['next_cursor']}")).json()
    again = await api.post("/api/v1/deliveries/msg_1/redeliver")
    twice = await api.post("/api/v1/deliveries/msg_1/redeliver")
    read = (await api.get("/api/v1/deliveries/msg_1")).json()

    assert [each["id"] for each in (*first["items"], *rest["items"])] == ["msg_2", "msg_1", "msg_0"]
    assert rest["next_cursor"] is None
    assert (again.status_code, twice.status_code) == (202, 409)
    assert (read["status"], read["payload"]["type"]) == ("pending", "run.missed")


async def test_alert_tells_the_kinds_it_was_asked_for(api: AsyncClient) -> None:
    made = await make_alert(api, kinds=["late", "quota"])
    changed = (await api.patch("/api/v1/alerts/ops", json={"kinds": ["parked"]})).json()

    assert made["kinds"] == ["late", "quota"]
    assert changed["kinds"] == ["parked"]


async def test_address_of_an_alert_is_never_shown_again(api: AsyncClient) -> None:
    made = await make_alert(api, "https://hooks.example.com/T0/B0/s3cret", "ops@example.com", cooldown="30m")
    changed = (await api.patch("/api/v1/alerts/ops", json={"to": made["to"], "failures": 5})).json()

    assert made["to"] == ["https://hooks.example.com:443/••••", "ops@example.com"]
    assert (changed["to"], changed["failures"], changed["cooldown_ms"]) == (made["to"], 5, 1_800_000)


async def test_alert_is_tested_by_every_way(api: AsyncClient, peer: HostilePeer) -> None:
    await make_alert(api, peer.url("/ok"), "ops@example.com")
    tried = (await api.post("/api/v1/alerts/ops/test")).json()

    assert [way["ok"] for way in tried["ways"]] == [True, False]
    assert "MAINSPRING_SMTP_URL" in tried["ways"][1]["error"]


@pytest.mark.parametrize(
    ("path", "body", "pointer", "words"),
    [
        ("webhooks", {"url": "ftp://x"}, "/url", "is not http or https"),
        (
            "webhooks",
            {"url": "https://example.com", "types": ["nonsense"]},
            "/types",
            "event 'nonsense' does not exist",
        ),
        ("alerts", {"name": "x", "to": ["nobody"]}, "/to", "is neither an email address nor a URL"),
        ("alerts", {"name": "x", "to": ["slack://a/b/c"]}, "/to", "MAINSPRING_ALLOW_APPRISE"),
        ("alerts", {"name": "x", "to": ["a@example.com"], "quiet": "never"}, "/quiet", "is not a time range"),
        ("alerts", {"name": "x", "to": ["a@example.com"], "timezone": "europe/berlin"}, "/timezone", "Europe/Berlin"),
        ("alerts", {"name": "x", "to": ["a@example.com"], "job": "none"}, "", "no job 'none'"),
        ("alerts", {"name": "x", "to": ["a@example.com"], "colour": "red"}, "/colour", "unknown field 'colour'"),
    ],
)
async def test_what_cannot_be_is_refused_in_words(
    api: AsyncClient, path: str, body: Json, pointer: str, words: str
) -> None:
    answer = await api.post(f"/api/v1/{path}", json=body)

    assert answer.status_code in (404, 422)
    assert words in answer.json()["detail"]
    if pointer:
        assert answer.json()["errors"][0]["pointer"] == pointer


async def test_name_that_is_taken_is_a_conflict_also_in_a_rehearsal(api: AsyncClient, app: FastAPI) -> None:
    await make_alert(api)
    body = {"name": "ops", "to": ["b@example.com"]}

    for query in ("", "?dry_run=true"):
        answer = await api.post(f"/api/v1/alerts{query}", json=body)
        assert answer.status_code == 409
        assert "another alert is named 'ops' already" in answer.json()["detail"]
