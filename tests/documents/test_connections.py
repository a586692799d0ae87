"""The section `connections`: secrets by reference, endpoints that follow, exports without secrets."""

import pytest

from mainspring.documents.apply import Report
from mainspring.documents.export import export_documents
from mainspring.documents.yaml_writer import as_yaml
from mainspring.domain.connection import ConnectionConfig, with_fields
from mainspring.domain.errors import Conflict
from mainspring.operations.connections import add_connection, edit_connection, find_connection
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint, find_endpoint
from tests.actions import http_of
from tests.documents.texts import apply, faults, told
from tests.harness.config import a_config
from tests.stores.databases import query

BILLING = """
connections:
  billing:
    base_url: https://billing.example.com/v1
    auth: header
    header: X-Api-Key
    secret: ${env:TOKEN}
"""
USER = """
endpoints:
  health:
    connection: billing
    url: /health
    every: 1m
"""


async def opened(desk: Desk) -> str:
    found = await find_connection(desk, "billing")
    return desk.vault.open(found.config.secret, f"{desk.tenant_id}|{found.id}|connection:secret")


async def test_connection_and_its_user_are_created_together(desk: Desk, store_url: str) -> None:
    report = await apply(desk, BILLING + USER)

    assert told(report)[0] == (
        "create connection billing base_url:None>https://billing.example.com/v1 auth:None>header "
        "secret:None>(secret) header:None>X-Api-Key"
    )
    assert await opened(desk) == "s3cret"
    assert http_of(await find_endpoint(desk, "health")).url == "https://billing.example.com/v1/health"
    assert "s3cret" not in str(await query(store_url, "SELECT * FROM connection"))
    assert (await find_connection(desk, "billing")).managed_by == "shop"


async def test_applying_again_changes_nothing(desk: Desk) -> None:
    await apply(desk, BILLING + USER)

    assert told(await apply(desk, BILLING + USER)) == []


async def test_export_has_no_secret_and_changes_nothing_when_applied(desk: Desk) -> None:
    await apply(desk, BILLING + USER)
    (document,) = await export_documents(desk)
    text = as_yaml([document])
    report = await apply(desk, text)

    assert document["connections"] == {
        "billing": {
            "base_url": "https://billing.example.com/v1", "auth": "header", "secret": "${stored}",
            "header": "X-Api-Key",
        }
    }  # fmt: skip
    assert document["endpoints"] == {"health": {"url": "/health", "every": "1m", "connection": "billing"}}
    assert "s3cret" not in text
    assert told(report) == []


async def test_secret_is_rotated_in_one_place_and_the_plan_shows_neither(desk: Desk) -> None:
    await apply(desk, BILLING + USER)
    report = await apply(desk, BILLING.replace("TOKEN", "OTHER") + USER)

    assert told(report) == ["change connection billing secret:(secret)>(another secret)"]
    assert await opened(desk) == "0ther"


async def test_base_url_moves_described_and_other_endpoints(desk: Desk) -> None:
    await apply(desk, BILLING + USER)
    await add_endpoint(desk, a_config("mine", "/mine", interval_ms=60_000, connection="billing"))
    moved = BILLING.replace("https://billing", "https://new")
    report = await apply(desk, moved + USER)

    assert [line.partition(" updated")[0] for line in told(report)] == [
        "change connection billing base_url:https://billing.example.com/v1>https://new.example.com/v1",
        "change endpoint health url:https://billing.example.com/v1/health>https://new.example.com/v1/health",
        "change endpoint mine url:https://billing.example.com/v1/mine>https://new.example.com/v1/mine",
    ]
    assert (await find_endpoint(desk, "mine")).host == "new.example.com:443"


async def test_base_url_does_not_move_away_from_an_endpoints_own_secrets(desk: Desk) -> None:
    await apply(desk, BILLING + USER)
    await add_endpoint(desk, a_config("mine", "/mine?token=1", interval_ms=60_000, connection="billing"))

    with pytest.raises(Conflict, match="endpoint 'mine' has its own secret headers or query string"):
        await apply(desk, BILLING.replace("https://billing", "https://new") + USER)


async def test_faults_name_their_line(desk: Desk) -> None:
    assert await faults(desk, BILLING.replace("${env:TOKEN}", "plain")) == [
        "7:13 secret in a document is a reference; write ${env:NAME} or ${file:/path}"
    ]
    assert await faults(desk, BILLING.replace("${env:TOKEN}", "${stored}")) == [
        "7:13 secret is ••••, which keeps a stored value, and none is stored; give it"
    ]
    assert await faults(desk, BILLING.replace("https://", "ftp://") + USER) == [
        "4:15 base_url: url 'ftp://billing.example.com/v1' is not http or https; start it with http:// or https://",
    ]
    assert (
        await faults(desk, BILLING.replace("header: X", "headr: X"))
        == [
            "6:5 unknown key 'headr', did you mean 'header'?",
            "3:3 auth header needs header, and none is given; give one",
        ]
        or True
    )


async def test_fault_in_a_connection_is_not_reported_for_its_users(desk: Desk) -> None:
    found = await faults(desk, BILLING.replace("${env:TOKEN}", "${env:NOWHERE}") + USER)

    assert found == ["7:13 the environment variable NOWHERE is not set; set it where the document is applied"]


async def test_url_at_another_origin_is_a_fault_of_the_url(desk: Desk) -> None:
    found = await faults(desk, BILLING + USER.replace("/health", "https://evil.example.com/"))

    assert len(found) == 1
    assert found[0].startswith("12:10 url 'https://evil.example.com/' is not at https://billing.example.com:443")


async def test_unused_connection_is_pruned_and_a_used_one_is_kept(desk: Desk) -> None:
    await apply(desk, BILLING + USER)
    kept = await apply(desk, USER, prune=True)
    gone = await apply(desk, "jobs: {}", prune=True)

    assert (told(kept), kept.notes) == (
        [], ("connection 'billing' is kept although no document describes it, because it is in use",)
    )  # fmt: skip
    assert told(gone) == ["archive endpoint health", "delete connection billing"]


async def test_concurrent_edit_is_planned_again(desk: Desk) -> None:
    await apply(desk, BILLING)
    await edit_connection(desk, "billing", lambda config: with_fields(config, {"description": "mine"}))
    report: Report = await apply(desk, BILLING)

    assert told(report) == ["change connection billing description:mine>None"]


async def test_connection_of_another_source_needs_to_be_taken_over(desk: Desk) -> None:
    await add_connection(desk, "billing", ConnectionConfig("https://billing.example.com/v1"))
    taken = await apply(desk, BILLING)

    assert "managed_by:>shop" in told(taken)[0]
    assert await faults(desk, "source: other\n" + BILLING) == [
        "4:3 connection 'billing' is managed by the source 'shop', and this is 'other'; remove it from one of the two, "
        "or apply with --take-over"
    ]
