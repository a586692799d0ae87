"""Endpoints of every kind through MCP, on both databases."""

import pytest

from mainspring.domain.access.scope import Principal, Scope
from mainspring.operations.audit import audit_entries
from tests.kind_samples import SAMPLES, TARGETS
from tests.mcp.conftest import Assistant, House
from tests.peers.talker import Talker, pong


@pytest.mark.parametrize("kind", SAMPLES)
async def test_assistant_creates_and_changes_an_endpoint_of_each_kind(assistant: Assistant, kind: str) -> None:
    made = await assistant("create_endpoint", name="it", every="5m", **SAMPLES[kind])
    changed = await assistant("edit_endpoint", endpoint="it", timeout="3s")
    listed = await assistant("list_endpoints")

    assert (made["endpoint"]["kind"], made["endpoint"]["target"]) == (kind, TARGETS[kind])
    assert changed["changes"] == {"timeout_ms": {"from": 2_000, "to": 3_000}}
    assert [(each["kind"], each["target"]) for each in listed["endpoints"]] == [(kind, TARGETS[kind])]


async def test_call_of_another_kind_is_tried_before_it_is_stored(assistant: Assistant) -> None:
    async with Talker(pong) as peer:
        outcome = await assistant("check_endpoint", kind="tcp", host="127.0.0.1", port=peer.port, expect="HELLO")

    assert (outcome["status"], outcome["address_verdict"]) == ("success", "allowed")


async def test_program_that_is_not_listed_is_refused_and_audited(assistant: Assistant, house: House) -> None:
    steal = {"kind": "command", "command": ["/bin/cat", "/etc/shadow"]}
    await assistant("create_endpoint", name="page", every="5m", url="https://example.com/")
    refused = [
        await assistant.refused("create_endpoint", name="it", every="5m", **steal),
        await assistant.refused("edit_endpoint", endpoint="page", **steal),
        await assistant.refused("check_endpoint", **steal),
    ]
    audited = [each.actor for each in await audit_entries(house.desk()) if each.act == "command.refused"]

    assert all("program '/bin/cat' is not allowed" in each for each in refused)
    assert audited == ["key:a"] * 3


async def test_assistant_that_may_only_run_endpoints_chooses_no_arguments(house: House) -> None:
    house.keys["key-run"] = Principal("default", "key:run", frozenset({Scope.READ, Scope.RUN}))
    async with house.assistant("key-run") as assistant:
        refused = await assistant.refused("check_endpoint", kind="command", command=["/usr/local/bin/backup", "--x"])

    assert "chooses the arguments of a program" in refused
