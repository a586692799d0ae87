"""Templates of real calls: what arrives at the peer, what is not sent, and what stays secret."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from mainspring.domain.access.sealing import query_place
from mainspring.domain.run import Header, HttpAction, Outcome, Request, RunStatus
from mainspring.outbound.caller import KindCaller, callers_of
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.kinds.dial import Dialer
from mainspring.outbound.templates import TemplateRenderer
from mainspring.outbound.vault import AesVault
from tests.outbound.conftest import LOOPBACK, NOW, request_to
from tests.peers.hostile import HostilePeer


@pytest.fixture
async def kinds(vault: AesVault) -> AsyncIterator[KindCaller]:
    http = HttpCaller(LOOPBACK, vault, clock=lambda: NOW)
    others = callers_of(Dialer(LOOPBACK, clock=lambda: NOW), vault)
    caller = KindCaller(http, others, TemplateRenderer(vault, None))
    yield caller
    await caller.aclose()


def templated(request: Request, **fields: object) -> Request:
    action = request.action
    assert isinstance(action, HttpAction)
    return replace(request, action=replace(action, templated=True, **fields), endpoint="billing", job="nightly")


async def test_peer_gets_the_filled_in_request(kinds: KindCaller, peer: HostilePeer) -> None:
    request = request_to(
        peer.url("/echo/{{ date(slot.time) }}?n={{ endpoint.name }}"),
        method="POST",
        headers=(Header("X-Attempt", "{{ run.attempt }}"),),
        body='{"id": "{{ slot.id }}"}',
    )
    outcome = await kinds.call(templated(request))
    seen = peer.seen[-1]
    assert outcome.status is RunStatus.SUCCESS
    assert (seen.path, seen.header("x-attempt"), seen.body) == (
        "/echo/2030-01-01?n=billing",
        "2",
        b'{"id": "ep_1_1893499199500000"}',
    )


async def test_encrypted_query_string_has_templates_and_its_secrets_are_redacted(
    kinds: KindCaller, peer: HostilePeer, vault: AesVault
) -> None:
    sealed = vault.seal("token=planted-secret-4711&day={{ date(slot.time) }}", query_place("tn_1", "ep_1"))
    outcome = await kinds.call(templated(request_to(peer.url("/echo") + "?••••"), query=sealed))
    assert peer.seen[-1].path == "/echo?token=planted-secret-4711&day=2030-01-01"
    assert outcome.body is not None
    assert b"planted-secret-4711" not in outcome.body.data


async def test_template_without_a_value_sends_nothing_and_names_it(kinds: KindCaller, peer: HostilePeer) -> None:
    outcome = await kinds.call(templated(request_to(peer.url("/ok"), method="POST", body="{{ [1][run.attempt] }}")))
    words = "not called: body: {{ [1][run.attempt] }} Index error: index=2 size=1"
    assert outcome == Outcome(RunStatus.BLOCKED, 0, error_code="template", error=words)
    assert peer.seen == []


async def test_next_call_of_another_endpoint_is_unharmed(kinds: KindCaller, peer: HostilePeer) -> None:
    await kinds.call(templated(request_to(peer.url("/ok"), method="POST", body="{{ 1 / (run.attempt - 2) }}")))
    assert (await kinds.call(request_to(peer.url("/ok")))).status is RunStatus.SUCCESS


async def test_text_that_is_not_marked_is_sent_as_it_is(kinds: KindCaller, peer: HostilePeer) -> None:
    await kinds.call(request_to(peer.url("/ok"), method="POST", body="{{ slot.id }}"))
    assert peer.seen[-1].body == b"{{ slot.id }}"


async def test_filled_in_requests_are_not_kept(vault: AesVault, peer: HostilePeer) -> None:
    http = HttpCaller(LOOPBACK, vault, clock=lambda: NOW)
    caller = KindCaller(http, {}, TemplateRenderer(vault, None))
    for attempt in range(3):
        await caller.call(replace(templated(request_to(peer.url("/ok?a={{ run.attempt }}"))), attempt=attempt))
    await caller.aclose()
    assert http._plans == {}
