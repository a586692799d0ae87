"""The callback URL of a call: only its target gets it, nothing stores it, and 202 leaves the run open."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from mainspring.domain.access.callback_token import CALLBACK_PLACE
from mainspring.domain.run import Body, HttpAction, Outcome, Request, RunStatus
from mainspring.outbound.caller import KindCaller
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.templates import TemplateRenderer
from mainspring.outbound.vault import AesVault
from tests.outbound.conftest import LOOPBACK, NOW, SLOT_AT, request_to
from tests.peers.hostile import HostilePeer

SITE = "https://mainspring.example.com"
HEADER = "mainspring-callback-url"


@pytest.fixture
async def caller(vault: AesVault) -> AsyncIterator[HttpCaller]:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW, site=f"{SITE}/")
    yield caller
    await caller.aclose()


def a_run(url: str, run_id: str = "run_1", **fields: Any) -> Request:
    request = request_to(url, **fields)
    assert isinstance(request.action, HttpAction)
    return replace(request, action=replace(request.action, completes="callback"), run_id=run_id)


async def test_target_gets_a_url_for_its_run_alone(peer: HostilePeer, caller: HttpCaller, vault: AesVault) -> None:
    await caller.call(a_run(peer.url("/ok")))
    await caller.call(a_run(peer.url("/ok"), "run_2"))

    first, second = (seen.header(HEADER) or "" for seen in peer.seen)
    start = f"{SITE}/callback/"
    assert first.startswith(start)
    assert vault.open(first.removeprefix(start), CALLBACK_PLACE) == "tn_1|ep_1|run_1"
    assert vault.open(second.removeprefix(start), CALLBACK_PLACE) == "tn_1|ep_1|run_2"


@pytest.mark.parametrize("fields", [{}, {"condition": "body.done"}, {"accept_codes": (200,)}])
async def test_202_leaves_the_run_open(peer: HostilePeer, caller: HttpCaller, fields: dict[str, Any]) -> None:
    outcome = await caller.call(a_run(peer.url("/answer?status=202"), **fields))

    assert (outcome.status, outcome.status_code, outcome.error_code, outcome.error) == (
        RunStatus.RUNNING, 202, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(("code", "status"), [(200, "success"), (204, "success"), (500, "failure"), (404, "failure")])
async def test_every_other_answer_ends_the_run(peer: HostilePeer, caller: HttpCaller, code: int, status: str) -> None:
    assert (await caller.call(a_run(peer.url(f"/answer?status={code}")))).status == status


async def test_call_without_a_run_gets_no_url_and_202_is_a_success(peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(a_run(peer.url("/answer?status=202"), ""))

    assert (outcome.status, peer.seen[0].header(HEADER)) == (RunStatus.SUCCESS, None)


async def test_url_that_the_target_echoes_is_redacted(peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(a_run(peer.url("/echo")))

    token = (peer.seen[0].header(HEADER) or "").rpartition("/")[2]
    assert isinstance(outcome.body, Body)
    assert token.encode() not in outcome.body.data
    assert b"/callback/[redacted]" in outcome.body.data


async def test_url_does_not_follow_a_redirect_to_another_origin(peer: HostilePeer, caller: HttpCaller) -> None:
    async with HostilePeer() as other:
        url = peer.url(f"/redirect/to?code=307&to={other.url('/ok')}")
        await caller.call(a_run(url, redirects_max=5))

        assert (peer.seen[0].header(HEADER) is None, other.seen[0].header(HEADER)) == (False, None)


async def test_nothing_is_sent_where_no_callback_could_arrive(peer: HostilePeer, vault: AesVault) -> None:
    nowhere = HttpCaller(LOOPBACK, vault, clock=lambda: NOW)
    outcome = await nowhere.call(a_run(peer.url("/ok")))

    assert (outcome.status, outcome.error_code, peer.seen) == (RunStatus.BLOCKED, "invalid_request", [])
    assert "set MAINSPRING_PUBLIC_URL" in str(outcome.error)


async def test_deadline_is_judged_without_a_call(peer: HostilePeer, caller: HttpCaller, vault: AesVault) -> None:
    overdue = replace(a_run(peer.url("/ok")), started_at=SLOT_AT)

    outcome = await KindCaller(caller, {}, TemplateRenderer(vault, None)).call(overdue)

    error = "no callback arrived before the deadline; the run began 500ms ago"
    assert outcome == Outcome(RunStatus.TIMEOUT, 500, error_code="no_callback", error=error)
    assert peer.seen == []
