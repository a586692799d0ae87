"""What people, programs and attackers send: refused with the field and the reason, on both databases, never a 5xx."""

import asyncio
import json
from itertools import product
from typing import Any
from urllib.parse import quote

from httpx2 import AsyncClient, Response

from mainspring.ports.stores import Stores
from tests.api.acting import URL, fault, make
from tests.stores.world import FixedClock, claim, finished

NAME_TOO_LONG = "x" * 250_000
MANY_HEADERS = [{"name": f"X-{number}", "value": "a"} for number in range(200)]
PAGES = (
    "limit=-1",
    "limit=0",
    "limit=1000000000",
    "limit=abc",
    "limit=1.5",
    "offset=1000000000000",
    f"cursor={'A' * 3_000}",
)
# What is wrong: the field it is about, and what is sent.
BAD_FIELDS: dict[str, tuple[str, dict[str, Any]]] = {
    "six fields of cron, one of them out of range": ("/cron", {"cron": "61 * * * * *"}),
    "a minute 60": ("/cron", {"cron": "60 * * * *"}),
    "the 31st of February": ("/cron", {"cron": "0 0 31 2 *"}),
    "a step of 0": ("/cron", {"cron": "*/0 * * * *"}),
    "a range backwards": ("/cron", {"cron": "1-0 * * * *"}),
    "@reboot": ("/cron", {"cron": "@reboot"}),
    "10 kB of cron": ("/cron", {"cron": "1," * 5_000 + "1 * * * *"}),
    "digits that are not ASCII": ("/cron", {"cron": "٣ * * * *"}),
    "a cron that is no text": ("/cron", {"cron": 5}),
    "min above max": ("/min_interval", {"every": "1m", "min_interval": "2h", "max_interval": "1h"}),
    "an interval below its min": ("/every", {"every": "1m", "min_interval": "2m"}),
    "an interval above its max": ("/every", {"every": "1h", "max_interval": "2m"}),
    "a timeout above ten minutes": ("/timeout", {"every": "1m", "timeout": "11m"}),
    "both a cron and an interval": ("/every", {"every": "1m", "cron": "@daily"}),
    "neither a cron nor an interval": ("/every", {}),
    "a zone that leads out of the folder": ("/timezone", {"cron": "@daily", "timezone": "../../etc/passwd"}),
    "the zone localtime": ("/timezone", {"cron": "@daily", "timezone": "localtime"}),
    "the zone posixrules": ("/timezone", {"cron": "@daily", "timezone": "posixrules"}),
    "a zone in the wrong case": ("/timezone", {"cron": "@daily", "timezone": "europe/berlin"}),
    "an empty zone": ("/timezone", {"cron": "@daily", "timezone": ""}),
    "a zone with a NUL": ("/timezone", {"cron": "@daily", "timezone": "UTC\x00"}),
    "a name with a NUL": ("/name", {"name": "a\x00b", "every": "1m"}),
    "half a surrogate pair": ("/name", {"name": "\ud800", "every": "1m"}),
    "a name that turns the line around": ("/name", {"name": "gpj\u202eexe", "every": "1m"}),
    "a name of 250 kB": ("/name", {"name": NAME_TOO_LONG, "every": "1m"}),
    "a name of spaces": ("/name", {"name": "   ", "every": "1m"}),
    "an empty name": ("/name", {"name": "", "every": "1m"}),
    "a name that is a number": ("/name", {"name": 5, "every": "1m"}),
    "a header with a line break": ("/headers", {"every": "1m", "headers": [{"name": "X", "value": "a\r\nb"}]}),
    "a header Host": ("/headers", {"every": "1m", "headers": [{"name": "Host", "value": "evil"}]}),
    "200 headers": (
        "/headers",
        {"every": "1m", "headers": [{"name": f"X-{n}", "value": "a"} for n in range(200)]},
    ),
    "an interval in quotes that says nothing": ("/every", {"every": "soon"}),
    "a negative interval": ("/every", {"every": -5}),
    "an interval beyond every integer": ("/every", {"every": 10**30}),
    "an interval that was rounded": ("/every", {"every": 1.5}),
    "an interval that is true": ("/every", {"every": True}),
    "a flag that is text": ("/spread", {"every": "1m", "spread": "yes"}),
    "a number that is text": ("/body_cap", {"every": "1m", "body_cap": "100"}),
    "headers that are an object": ("/headers", {"every": "1m", "headers": {"X": "a"}}),
    "an unknown policy": ("/misfire", {"every": "1m", "misfire": "run_twice"}),
    "a condition that does not compile": ("/condition", {"every": "1m", "condition": "status_code ==="}),
    "another tenant": ("/tenant_id", {"every": "1m", "tenant_id": "other"}),
    "an id": ("/id", {"every": "1m", "id": "ep_1"}),
    "an epoch": ("/claim_epoch", {"every": "1m", "claim_epoch": 9}),
    "a next run": ("/next_run_at", {"every": "1m", "next_run_at": "2030-01-01T00:00:00Z"}),
    "a URL with a password": ("/url", {"every": "1m", "url": "http://user:pass@127.0.0.1:65001/"}),
    "a URL of another scheme": ("/url", {"every": "1m", "url": "file:///etc/passwd"}),
    "a URL with a strange address": ("/url", {"every": "1m", "url": "http://0x7f.1:65001/"}),
    "a URL with port 0": ("/url", {"every": "1m", "url": "http://127.0.0.1:0/"}),
}


def json_of(wish: dict[str, Any]) -> bytes:
    """As a stranger would write it, half characters included."""
    return json.dumps(wish).encode()


async def create(api: AsyncClient, wish: dict[str, Any]) -> Response:
    body = json_of({"name": "billing", "url": URL, **wish})
    return await api.post("/api/v1/endpoints", content=body, headers={"content-type": "application/json"})


async def test_bad_field_is_refused_by_its_name_when_made_and_when_changed(api: AsyncClient) -> None:
    await make(api, "there")
    wrong = {}
    for what, (pointer, wish) in BAD_FIELDS.items():
        made = await create(api, wish)
        changed = await api.patch(
            "/api/v1/endpoints/there", content=json_of(wish), headers={"content-type": "application/json"}
        )
        pointers = [error["pointer"] for error in made.json().get("errors", [])]
        if made.status_code != 422 or not any(each.endswith(pointer) for each in pointers):
            wrong[what] = (made.status_code, made.text[:300])
        if wish and changed.status_code != 422:
            wrong[f"{what}, changed"] = (changed.status_code, changed.text[:300])

    assert wrong == {}
    assert [each["name"] for each in (await api.get("/api/v1/endpoints")).json()["items"]] == ["there"]


async def test_two_spellings_of_one_name_are_one_name(api: AsyncClient) -> None:
    await make(api, "caf\u00e9")

    assert (await create(api, {"name": "cafe\u0301", "every": "1m"})).status_code == 409
    for spelled in ("caf\u00e9", "cafe\u0301", " caf\u00e9 "):
        assert (await api.get(f"/api/v1/endpoints/{quote(spelled)}")).status_code == 200


async def test_name_is_found_in_whichever_way_it_is_spelled(api: AsyncClient) -> None:
    for path, wish in (
        ("jobs", {"name": "caf\u00e9"}),
        ("alerts", {"name": "caf\u00e9", "to": ["ops@example.com"]}),
        ("webhooks", {"name": "caf\u00e9", "url": URL}),
        ("maintenance", {"name": "caf\u00e9", "cron": "0 2 * * *", "duration": "1h"}),
        ("calendars", {"name": "caf\u00e9", "weekdays": ["sun"]}),
        ("connections", {"name": "caf\u00e9", "base_url": URL}),
    ):
        assert (await api.post(f"/api/v1/{path}", json=wish)).status_code == 201
        assert (await api.get(f"/api/v1/{path}/{quote('cafe' + chr(0x301))}")).status_code == 200


async def test_names_in_any_script_are_fine(api: AsyncClient) -> None:
    for name in ("🦄", "日次バッチ", "Σίσυφος"):
        assert (await make(api, name))["name"] == name


async def test_nonsense_about_pages_is_refused(api: AsyncClient) -> None:
    for path, query in product(("endpoints", "runs", "events"), PAGES):
        assert fault(await api.get(f"/api/v1/{path}?{query}"))[0] == query.partition("=")[0]


async def test_search_for_anything_is_a_search_for_text(api: AsyncClient) -> None:
    await make(api)
    for text in ("%25", "_", "%5C", "(a%2B)%2B%24", "x" * 500, "%27%3B--", "%F0%9F%A6%84", "%FF"):
        answer = await api.get(f"/api/v1/endpoints?text={text}")
        assert (answer.status_code, answer.json()["items"]) == (200, []), text
    assert fault(await api.get(f"/api/v1/endpoints?text={'x' * 10_000}"))[0] == "text"
    assert (await api.get("/api/v1/endpoints?text=%00")).status_code == 400


async def test_hints_beyond_their_bounds_are_refused(api: AsyncClient) -> None:
    await make(api)
    hints = "/api/v1/endpoints/billing/hints"

    async def refused(kind: str, wish: dict[str, Any]) -> str:
        return fault(await api.put(f"{hints}/{kind}", json=wish))[0]

    assert await refused("interval", {"every": "30s", "ttl": "25h"}) == "/ttl"
    assert await refused("interval", {"every": "1ms"}) == "/every"
    assert await refused("interval", {}) == "/every"
    assert await refused("interval", {"every": "30s", "reason": "x" * 2_000}) == "/reason"
    assert await refused("interval", {"every": "30s", "author": "somebody else"}) == "/author"
    assert await refused("one-shot", {}) == "/at"
    assert await refused("one-shot", {"after": "1s", "at": "2030-01-01T00:00:00Z"}) == "/after"
    assert await refused("one-shot", {"at": "2030-01-01T00:00:00Z"}) == "/at"
    assert await refused("one-shot", {"after": "1h"}) == "/after"
    assert await refused("one-shot", {"at": "2030-01-01"}) == "/at"
    assert await refused("one-shot", {"at": 1893456000}) == "/at"


async def test_pauses_that_make_no_sense_are_refused(api: AsyncClient) -> None:
    await make(api)
    for wish, pointer in (
        ({"until": "9999-12-31T23:59:59Z"}, "/until"),
        ({"until": "0001-01-01T00:00:00+14:00"}, "/until"),
        ({"until": "2030-01-01T00:00:00"}, "/until"),
        ({"until": "2030-01-01T00:00:00Z", "duration": "1h"}, "/duration"),
        ({"duration": "400d"}, "/duration"),
        ({"reason": "a\x00"}, "/reason"),
    ):
        assert fault(await api.post("/api/v1/endpoints/billing/pause", json=wish))[0] == pointer


async def test_many_who_ask_for_a_run_at_once_get_one(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api, every="1h")
    await stores.schedule.finish([finished(each) for each in (await claim(stores)).claims])
    clock.tick(seconds=1)
    answers = await asyncio.gather(*(api.post("/api/v1/endpoints/billing/run") for _ in range(50)))

    assert {answer.status_code for answer in answers} == {202}
    assert len((await claim(stores)).claims) == 1
    assert len((await claim(stores)).claims) == 0


async def test_endpoint_deleted_during_its_run_leaves_nothing_behind(api: AsyncClient, stores: Stores) -> None:
    await make(api)
    batch = await claim(stores)
    deleted = await api.delete("/api/v1/endpoints/billing")
    await stores.schedule.finish([finished(each) for each in batch.claims])

    assert deleted.status_code == 200
    assert (await api.get("/api/v1/runs")).json()["items"] == []
