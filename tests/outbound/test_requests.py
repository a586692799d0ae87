"""What goes out: method, body, content type, identity headers, signature; and what must keep it from going out."""

import json
from datetime import UTC, datetime
from ipaddress import ip_network
from urllib.parse import quote

import pytest
from standardwebhooks import Webhook

from mainspring.domain.run import Header, RunStatus
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import PLANS_MAX, HttpCaller
from mainspring.outbound.signing import generate_secret
from mainspring.outbound.vault import AesVault, KeyRing
from tests.actions import http_of
from tests.outbound.conftest import LOOPBACK, NOW, request_to
from tests.peers.hostile import HostilePeer

SIGNING_PLACE = "tn_1|signing"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_get_and_head_send_no_body(method: str, peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(request_to(peer.url("/echo"), method=method, body='{"a": 1}'))

    assert outcome.status is RunStatus.SUCCESS
    seen = peer.seen[0]
    assert (seen.method, seen.body) == (method, b"")
    assert seen.header("content-length") is None
    assert seen.header("content-type") is None


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("body", ["", "0", "false", '""', "null", '{"a": 1}', "ünïcode ✓", "x" * 300_000])
async def test_every_other_method_sends_its_body(method: str, body: str, peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(request_to(peer.url("/echo"), method=method, body=body))

    assert outcome.status is RunStatus.SUCCESS
    seen = peer.seen[0]
    assert (seen.method, seen.body) == (method, body.encode())
    assert seen.header("content-length") == str(len(body.encode()))
    assert seen.header("expect") is None


@pytest.mark.parametrize(
    ("method", "length"), [("POST", "0"), ("PUT", "0"), ("PATCH", "0"), ("DELETE", None), ("OPTIONS", None)]
)
async def test_a_method_without_a_body_says_so(
    method: str, length: str | None, peer: HostilePeer, caller: HttpCaller
) -> None:
    await caller.call(request_to(peer.url("/echo"), method=method))

    seen = peer.seen[0]
    assert (seen.method, seen.body, seen.header("content-length")) == (method, b"", length)
    assert seen.header("content-type") is None


async def test_a_body_sent_once_is_not_sent_again_by_the_next_call(peer: HostilePeer, caller: HttpCaller) -> None:
    for body in ("x" * 100_000, None, "short"):
        await caller.call(request_to(peer.url("/echo"), method="POST", body=body))

    assert [seen.body for seen in peer.seen] == [b"x" * 100_000, b"", b"short"]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ('{"a": 1}', "application/json"),
        ("0", "application/json"),
        ("false", "application/json"),
        ('""', "application/json"),
        ("", "text/plain; charset=utf-8"),
        ("hello", "text/plain; charset=utf-8"),
        ("[" * 5_000, "text/plain; charset=utf-8"),
    ],
)
async def test_the_content_type_is_json_when_the_body_is(
    body: str, content_type: str, peer: HostilePeer, caller: HttpCaller
) -> None:
    await caller.call(request_to(peer.url("/echo"), method="POST", body=body))

    assert peer.seen[0].header("content-type") == content_type


async def test_a_given_content_type_wins(peer: HostilePeer, caller: HttpCaller) -> None:
    headers = (Header("Content-Type", "application/xml"),)

    await caller.call(request_to(peer.url("/echo"), method="POST", body="{}", headers=headers))

    assert [value for name, value in peer.seen[0].headers if name == "content-type"] == ["application/xml"]


async def test_every_request_says_which_slot_and_attempt_it_is(peer: HostilePeer, caller: HttpCaller) -> None:
    await caller.call(request_to(peer.url("/echo")))

    headers = dict(peer.seen[0].headers)
    assert {name: headers[name] for name in sorted(headers) if name not in ("host", "user-agent")} == {
        "accept": "*/*",
        "accept-encoding": "identity",
        "mainspring-attempt": "2",
        "mainspring-slot": "2030-01-01T11:59:59.500000Z",
        "webhook-id": "ep_1_1893499199500000",
        "webhook-timestamp": str(int(NOW.timestamp())),
    }
    assert headers["user-agent"].startswith("Mainspring/")


async def test_headers_go_out_as_given_even_empty_and_latin_1(peer: HostilePeer, caller: HttpCaller) -> None:
    headers = (Header("X-Plain", "a: b"), Header("X-Empty", ""), Header("X-Name", "café"), Header("User-Agent", "me/1"))

    await caller.call(request_to(peer.url("/echo"), headers=headers))

    seen = peer.seen[0]
    assert [seen.header(name) for name in ("x-plain", "x-empty", "x-name", "user-agent")] == [
        "a: b",
        "",
        "café",
        "me/1",
    ]


async def test_a_path_goes_out_exactly_as_written(peer: HostilePeer, caller: HttpCaller) -> None:
    await caller.call(request_to(peer.url("/echo/../x/./%2E%2E/;a?q=%20|{}&ü=1#fragment")))

    assert peer.seen[0].path == "/echo/../x/./%2E%2E/;a?q=%20|{}&%C3%BC=1"


async def test_a_signed_request_verifies_with_the_official_package(peer: HostilePeer, vault: AesVault) -> None:
    now = datetime.now(UTC).replace(microsecond=0)  # the package compares with the real clock
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: now)
    new, old = generate_secret(), generate_secret()
    keys = (vault.seal(new, SIGNING_PLACE), vault.seal(old, SIGNING_PLACE))

    await caller.call(request_to(peer.url("/echo"), method="POST", body='{"ü": 1}', signing_keys=keys))
    await caller.aclose()

    seen = peer.seen[0]
    for secret in (new, old):
        assert Webhook(secret).verify(seen.body, dict(seen.headers)) == {"ü": 1}
    assert len((seen.header("webhook-signature") or "").split(" ")) == 2


async def test_an_unsigned_tenant_sends_no_signature(peer: HostilePeer, caller: HttpCaller) -> None:
    await caller.call(request_to(peer.url("/echo")))

    assert peer.seen[0].header("webhook-signature") is None


SEALED_ELSEWHERE = AesVault(KeyRing(b"x" * 32)).seal(generate_secret(), SIGNING_PLACE)
SEALED_FOR_ANOTHER = AesVault(KeyRing(b"k" * 32)).seal(generate_secret(), "tn_2|signing")
SEALED_NONSENSE = AesVault(KeyRing(b"k" * 32)).seal("not a secret", SIGNING_PLACE)


@pytest.mark.parametrize(
    "sealed", [SEALED_ELSEWHERE, SEALED_FOR_ANOTHER, SEALED_NONSENSE, "", "v1.x", "plain text"],
    ids=["unknown_key", "other_tenant", "no_signing_secret", "empty", "cut", "not_sealed"],
)  # fmt: skip
async def test_what_cannot_be_signed_is_not_sent(sealed: str, peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(request_to(peer.url("/echo"), signing_keys=(sealed,)))

    assert (outcome.status, outcome.error_code) == (RunStatus.BLOCKED, "signing")
    assert (outcome.error or "").startswith("not sent: ")
    assert peer.accepted == 0


async def test_a_secret_header_is_opened_for_its_own_endpoint_only(
    peer: HostilePeer, caller: HttpCaller, vault: AesVault
) -> None:
    sealed = vault.seal("Bearer canary-token-123", "tn_1|ep_1|header:authorization")
    headers = (Header("Authorization", sealed, secret=True),)

    mine = await caller.call(request_to(peer.url("/ok"), headers=headers))
    other = await caller.call(request_to(peer.url("/ok"), headers=headers, tenant_id="tn_2"))

    assert mine.status is RunStatus.SUCCESS
    assert [seen.header("authorization") for seen in peer.seen] == ["Bearer canary-token-123"]
    assert (other.status, other.error_code) == (RunStatus.BLOCKED, "secret")


async def test_a_secret_that_would_end_its_header_line_is_not_sent(
    peer: HostilePeer, caller: HttpCaller, vault: AesVault
) -> None:
    sealed = vault.seal("canary\r\nX-Evil: 1", "tn_1|ep_1|header:x-key")

    outcome = await caller.call(request_to(peer.url("/ok"), headers=(Header("X-Key", sealed, secret=True),)))

    assert (outcome.status, outcome.error_code) == (RunStatus.BLOCKED, "secret")
    assert "canary" not in (outcome.error or "")
    assert peer.accepted == 0


@pytest.mark.parametrize("body_cap", [100_000, 330])
async def test_an_echoed_secret_is_taken_out_of_what_is_kept(
    body_cap: int, peer: HostilePeer, caller: HttpCaller, vault: AesVault
) -> None:
    sealed = vault.seal("Bearer canary-token-123", "tn_1|ep_1|header:authorization")
    headers = (Header("Authorization", sealed, secret=True),)

    outcome = await caller.call(request_to(peer.url("/echo"), headers=headers, body_cap=body_cap))

    assert peer.seen[0].header("authorization") == "Bearer canary-token-123"
    assert outcome.body is not None
    assert b"canary-" not in outcome.body.data
    if body_cap > 330:
        assert json.loads(outcome.body.data)["headers"]["authorization"] == "[redacted]"


async def test_a_secret_cut_in_half_by_the_cap_is_taken_out(
    peer: HostilePeer, caller: HttpCaller, vault: AesVault
) -> None:
    headers = (Header("X-Key", vault.seal("canary-token-123", "tn_1|ep_1|header:x-key"), secret=True),)

    outcome = await caller.call(
        request_to(peer.url("/answer?body=it+is+canary-token-123"), headers=headers, body_cap=14)
    )

    assert outcome.body is not None
    assert outcome.body.data == b"it is [redacted]"


async def test_a_secret_echoed_in_headers_is_taken_out(peer: HostilePeer, caller: HttpCaller, vault: AesVault) -> None:
    sealed = vault.seal("canary-token-123", "tn_1|ep_1|header:x-key")
    url = peer.url("/answer?status=500&header=X-Echo:+is+canary-token-123+it")

    outcome = await caller.call(request_to(url, headers=(Header("X-Key", sealed, secret=True),)))

    assert ("x-echo", "is [redacted] it") in outcome.headers


INVALID = {
    "an_unknown_method": {"method": "BREW"},
    "a_header_with_a_line_break": {"headers": (Header("X-A", "a\r\nX-B: c"),)},
    "a_header_that_frames_the_message": {"headers": (Header("Content-Length", "5"),)},
    "a_header_of_ours": {"headers": (Header("webhook-id", "mine"),)},
    "too_many_headers": {"headers": tuple(Header(f"X-{n}", "1") for n in range(51))},
    "a_body_with_half_a_character": {"method": "POST", "body": "\ud800"},
}


@pytest.mark.parametrize("action", INVALID.values(), ids=INVALID)
async def test_an_action_that_breaks_a_rule_is_not_sent(
    action: dict[str, object], peer: HostilePeer, caller: HttpCaller
) -> None:
    outcome = await caller.call(request_to(peer.url("/ok"), **action))  # type: ignore[arg-type]  # rows of one table

    assert (outcome.status, outcome.error_code) == (RunStatus.BLOCKED, "invalid_request")
    assert peer.accepted == 0


@pytest.mark.parametrize(
    ("accept_codes", "path", "status"),
    [
        ((), "/answer?status=200", RunStatus.SUCCESS),
        ((), "/answer?status=299", RunStatus.SUCCESS),
        ((), "/answer?status=300", RunStatus.FAILURE),
        ((), "/answer?status=404", RunStatus.FAILURE),
        ((404,), "/answer?status=404", RunStatus.SUCCESS),
        ((404,), "/answer?status=200", RunStatus.FAILURE),
        ((200, 302), "/redirect/to?to=/ok", RunStatus.SUCCESS),
    ],
)
async def test_accepted_codes_replace_2xx(
    accept_codes: tuple[int, ...], path: str, status: RunStatus, peer: HostilePeer, caller: HttpCaller
) -> None:
    outcome = await caller.call(request_to(peer.url(path), accept_codes=accept_codes))

    assert outcome.status is status


@pytest.mark.parametrize(
    ("condition", "path", "error"),
    [
        ("body.ok && body.queue_depth < 10", "/ok", None),
        ("headers['content-type'] == 'application/json' && duration_ms < 5000", "/ok", None),
        ("body.queue_depth > 10", "/ok", "the condition is false: body.queue_depth > 10"),
        ("body.missing > 10", "/ok", 'the condition failed: Key not found in map : "missing"'),
        ("body == null", "/json/deep", None),
        ("status_code == 503", "/unavailable", "HTTP 503 Service Unavailable; expected 2xx"),
    ],
)
async def test_a_condition_decides_among_accepted_answers(
    condition: str, path: str, error: str | None, peer: HostilePeer, caller: HttpCaller
) -> None:
    outcome = await caller.call(request_to(peer.url(path), condition=condition))

    assert outcome.error == error
    assert (outcome.status is RunStatus.SUCCESS) is (error is None)


@pytest.mark.parametrize(
    ("status", "value", "seconds"),
    [
        ("429", "7", 7),
        ("503", "7", 7),
        ("503", "Tue, 01 Jan 2030 12:00:30 GMT", 30),
        ("503", "soon", None),
        ("500", "7", None),
    ],
)
async def test_a_target_that_is_busy_may_say_when_to_come_back(
    status: str, value: str, seconds: int | None, peer: HostilePeer, caller: HttpCaller
) -> None:
    outcome = await caller.call(request_to(peer.url(f"/answer?status={status}&header=Retry-After:{quote(value)}")))

    assert outcome.retry_after_s == seconds


async def test_an_outcome_says_where_the_time_went_and_who_answered(peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(request_to(peer.url("/slow?ms=30")))

    assert outcome.address == "127.0.0.1"
    assert outcome.phases is not None
    assert 0 < outcome.phases.connect_us < outcome.phases.first_byte_us <= outcome.phases.total_us
    assert outcome.phases.first_byte_us >= 30_000
    assert outcome.duration_ms == round(outcome.phases.total_us / 1_000)


async def test_plans_kept_in_memory_are_bounded(vault: AesVault) -> None:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW)
    for number in range(PLANS_MAX + 10):
        caller._plan(http_of(request_to(f"http://127.0.0.1:8000/{number}")))

    assert len(caller._plans) == PLANS_MAX


@pytest.mark.parametrize("host", ["[::1]", "six.example"])
async def test_a_target_is_reached_over_ipv6(host: str, vault: AesVault) -> None:
    guard = AddressGuard((ip_network("::1/128"),))
    caller = HttpCaller(guard, vault, clock=lambda: NOW, lookup=lambda name: ("127.0.0.1", "::1"))
    async with HostilePeer(host="::1") as peer:
        outcome = await caller.call(request_to(f"http://{host}:{peer.port}/ok"))
        await caller.aclose()

    assert (outcome.status, outcome.address) == (RunStatus.SUCCESS, "::1")
    assert peer.seen[0].header("host") == f"{host}:{peer.port}"


async def test_an_unreachable_port_is_a_connect_failure(caller: HttpCaller) -> None:
    async with HostilePeer() as gone:
        url = gone.url("/ok")

    outcome = await caller.call(request_to(url))

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "connect")
