"""Endpoints of every kind through the API, on both databases."""

from typing import Any

import pytest
from httpx2 import AsyncClient

from mainspring.domain.endpoint import CONFIG_FIELDS
from mainspring.domain.kinds.registry import KINDS, PAIRS
from tests.api.acting import fault
from tests.kind_samples import SAMPLES, TARGETS, durations
from tests.peers.talker import Talker, pong

TEXTS = {
    "command": "local/bin/backup",
    "heartbeat": "it",
    "queue": "mq.example.com",
}  # that a search finds, where there is no host
PATH = "/api/v1/endpoints"


def shown(endpoint: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    """The fields of a sample as the answer shows them."""
    names = {field.key: field.name for field in CONFIG_FIELDS}
    return {key: endpoint[names[key]] for key in sample}


def test_every_kind_has_a_sample_with_every_field() -> None:
    wanted = {
        kind.name: {"kind", *(field.key for field in kind.fields if field.key not in PAIRS)}
        for kind in KINDS
        if kind.name != "http"
    }

    assert {name: set(sample) for name, sample in SAMPLES.items()} == wanted


@pytest.mark.parametrize("kind", SAMPLES)
async def test_endpoint_of_each_kind_is_made_shown_changed_and_found(api: AsyncClient, kind: str) -> None:
    sample = SAMPLES[kind]
    made = await api.post(PATH, json={"name": "it", "every": "5m", **sample})
    again = await api.patch(f"{PATH}/it", json={"timeout": "3s"})
    found = await api.get(PATH, params={"text": TEXTS.get(kind) or sample["host"]})

    assert made.status_code == 201, made.text
    answer = made.json()
    wanted = sample | durations(sample)
    assert shown(answer, wanted) == wanted
    assert (answer["target"], answer["url"], answer["method"], answer["headers"]) == (TARGETS[kind], None, None, [])
    assert again.json()["timeout_ms"] == 3_000
    assert [each["name"] for each in found.json()["items"]] == ["it"]


async def test_kinds_are_listed_with_their_fields_and_facts(api: AsyncClient) -> None:
    kinds = {each["name"]: each for each in (await api.get("/api/v1/kinds")).json()["items"]}

    assert list(kinds) == [kind.name for kind in KINDS]
    (port,) = [each for each in kinds["tcp"]["fields"] if each["key"] == "port"]
    assert (port["type"], port["required"], port["examples"]) == ("number", True, ["5432"])
    assert kinds["tcp"]["facts"][0]["name"] == "body.banner"


async def test_field_of_another_kind_is_refused_where_it_was_given(api: AsyncClient) -> None:
    answer = await api.post(PATH, json={"name": "it", "every": "5m", **SAMPLES["tcp"], "method": "POST"})

    assert fault(answer) == (
        "/method",
        "method belongs to kind http, and 'it' is of kind tcp; leave method out, or choose kind http",
    )


async def test_missing_url_is_asked_for(api: AsyncClient) -> None:
    answer = await api.post(PATH, json={"name": "it", "every": "5m"})

    assert fault(answer) == ("/url", "no url for 'it'; an endpoint of kind http needs one: give url")


async def test_kind_is_changed_if_the_new_one_has_what_it_needs(api: AsyncClient) -> None:
    await api.post(PATH, json={"name": "it", "every": "5m", **SAMPLES["tcp"]})
    refused = await api.patch(f"{PATH}/it", json={"kind": "http"})
    changed = await api.patch(f"{PATH}/it", json={"kind": "http", "url": "https://example.com/"})

    assert fault(refused)[0] == "/url"
    answer = changed.json()
    assert (answer["kind"], answer["url"], answer["host"], answer["timeout_ms"]) == (
        "http",
        "https://example.com/",
        None,
        30_000,
    )


async def test_endpoint_of_another_kind_is_tested_and_rehearsed(api: AsyncClient) -> None:
    async with Talker(pong) as peer:
        port = peer.port
        wish = {"name": "it", "every": "5m", "kind": "tcp", "host": "127.0.0.1", "port": port, "expect": "HELLO"}
        unsaved = (await api.post(f"{PATH}/check", json=wish)).json()
        rehearsed = (await api.post(PATH, params={"dry_run": True}, json=wish)).json()
        await api.post(PATH, json=wish)
        would = (await api.post(f"{PATH}/it/test", params={"dry_run": True})).json()
        tested = (await api.post(f"{PATH}/it/test")).json()

    assert (unsaved["status"], unsaved["address_verdict"]) == ("success", "allowed")
    assert rehearsed["after"]["kind"] == "tcp"
    assert (would["would_call"]["kind"], would["would_call"]["target"]) == ("tcp", f"tcp 127.0.0.1:{port}")
    assert tested["status"] == "success"
    assert tested["body"]["text"].startswith('{"connect_ms":')
