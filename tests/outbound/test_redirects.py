"""Promise S2: redirects are followed only when asked, at most five, each checked, and no secret leaves its origin."""

from collections.abc import AsyncIterator

import pytest

from mainspring.domain.run import Header, RunStatus
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.signing import generate_secret, sign
from mainspring.outbound.vault import AesVault
from tests.outbound.conftest import NOW, request_to
from tests.peers.hostile import HostilePeer, Seen

SECRETS = ("canary-secret", "canary-authorization", "canary-cookie")
CONFIDENTIAL = ("authorization", "cookie", "x-secret", "webhook-signature")


@pytest.fixture
async def other() -> AsyncIterator[HostilePeer]:
    """Another origin: the same host on another port."""
    async with HostilePeer() as running:
        yield running


@pytest.fixture
def headers(vault: AesVault) -> tuple[Header, ...]:
    return (
        Header("Authorization", "Bearer canary-authorization"),
        Header("Cookie", "session=canary-cookie"),
        Header("X-Secret", vault.seal("canary-secret", "tn_1|ep_1|header:x-secret"), secret=True),
        Header("X-Plain", "plain"),
    )


@pytest.fixture
def keys(vault: AesVault) -> tuple[str, ...]:
    return (vault.seal(generate_secret(), "tn_1|signing"),)


@pytest.mark.parametrize("hops", [1, 2, 5])
async def test_up_to_five_redirects_are_followed(hops: int, peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(request_to(peer.url(f"/redirect/chain/{hops}"), redirects_max=5))

    assert outcome.status is RunStatus.SUCCESS
    assert len(peer.seen) == hops + 1


@pytest.mark.parametrize(
    ("path", "redirects_max", "followed"),
    [
        ("/redirect/chain/6", 5, 5),
        ("/redirect/chain/6", 100, 5),
        ("/redirect/chain/2", 1, 1),
        ("/redirect/loop", 3, 3),
    ],
)
async def test_the_limit_ends_a_chain(
    path: str, redirects_max: int, followed: int, peer: HostilePeer, caller: HttpCaller
) -> None:
    outcome = await caller.call(request_to(peer.url(path), redirects_max=redirects_max))

    assert (outcome.status, outcome.error_code, outcome.status_code) == (RunStatus.FAILURE, "redirect_limit", 302)
    assert len(peer.seen) == followed + 1


@pytest.mark.parametrize(
    ("path", "error_code"),
    [
        ("/redirect/nowhere", "redirect_invalid"),
        ("/redirect/long-enough", "redirect_invalid"),
        ("/redirect/long", "headers_too_large"),
        ("/redirect/two-places", "protocol"),
        ("/redirect/not-modified", "http_status"),
        ("/redirect/to?to=http://user:pass@127.0.0.1/", "redirect_invalid"),
        ("/redirect/to?to=ftp://127.0.0.1/", "redirect_invalid"),
        ("/redirect/to?to=http://127.0.0.1:22/", "redirect_invalid"),
        ("/redirect/to?to=http://[::1/", "redirect_invalid"),
        ("/redirect/to?to=/a%20b", "redirect_invalid"),
        ("/redirect/to?to=/%E2%82%AC", "redirect_invalid"),
        ("/redirect/to?to=//127.0.0.2/x", "blocked_address"),
        ("/redirect/to?to=http://169.254.169.254/", "blocked_address"),
    ],
)
async def test_a_bad_redirect_ends_the_call(path: str, error_code: str, peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(request_to(peer.url(path), redirects_max=5))

    assert outcome.error_code == error_code
    assert len(peer.seen) == 1


async def test_redirect_to_a_metadata_address_is_told_that_it_is_never_called(
    peer: HostilePeer, caller: HttpCaller
) -> None:
    outcome = await caller.call(request_to(peer.url("/redirect/to?to=http://169.254.169.254/"), redirects_max=5))

    assert outcome.error == (
        "not called: 169.254.169.254 is a metadata address (AWS, Google, Azure and others); "
        "that is never called, regardless of the networks that the operator allows"
    )


@pytest.mark.parametrize(
    "place", ["/ok", "../ok", "./../ok?x=1#y", "//127.0.0.1:{port}/ok", "http://127.0.0.1:{port}/ok"]
)
async def test_relative_places_are_understood(place: str, peer: HostilePeer, caller: HttpCaller) -> None:
    url = peer.url(f"/redirect/to?to={place.format(port=peer.port)}".replace("#", "%23"))

    outcome = await caller.call(request_to(url, redirects_max=1))

    assert outcome.status is RunStatus.SUCCESS


@pytest.mark.parametrize(
    ("code", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (301, "PUT", "PUT"),
        (302, "DELETE", "DELETE"),
        (303, "HEAD", "HEAD"),
    ],
)
async def test_the_method_changes_as_in_browsers(
    code: int, method: str, then: str, peer: HostilePeer, caller: HttpCaller
) -> None:
    url = peer.url(f"/redirect/to?code={code}&to=/echo")

    outcome = await caller.call(request_to(url, method=method, body='{"a": 1}', redirects_max=1))

    assert outcome.status is RunStatus.SUCCESS
    first, second = peer.seen
    assert second.method == then
    assert second.body == (first.body if then == method else b"")
    assert second.header("content-type") == (first.header("content-type") if then == method else None)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_no_secret_reaches_another_origin(
    code: int,
    peer: HostilePeer,
    other: HostilePeer,
    caller: HttpCaller,
    headers: tuple[Header, ...],
    keys: tuple[str, ...],
) -> None:
    url = peer.url(f"/redirect/to?code={code}&to={other.url('/ok')}")

    outcome = await caller.call(
        request_to(url, method="POST", body="{}", headers=headers, signing_keys=keys, redirects_max=5)
    )

    assert outcome.status is RunStatus.SUCCESS
    assert all(peer.seen[0].header(name) for name in CONFIDENTIAL)
    assert_without_secrets(other.seen[0])
    assert other.seen[0].header("x-plain") == "plain"
    assert other.seen[0].header("webhook-id") == "ep_1_1893499199500000"


async def test_secrets_do_not_return_once_they_were_left_behind(
    peer: HostilePeer, other: HostilePeer, caller: HttpCaller, headers: tuple[Header, ...], keys: tuple[str, ...]
) -> None:
    back = other.url(f"/redirect/to?code=307&to={peer.url('/ok')}")

    await caller.call(
        request_to(peer.url(f"/redirect/to?code=307&to={back}"), headers=headers, signing_keys=keys, redirects_max=5)
    )

    assert len(peer.seen) == 2
    assert_without_secrets(other.seen[0])
    assert_without_secrets(peer.seen[1])


async def test_secrets_stay_within_their_origin(
    peer: HostilePeer, caller: HttpCaller, headers: tuple[Header, ...], keys: tuple[str, ...]
) -> None:
    url = peer.url("/redirect/to?code=307&to=/ok")

    await caller.call(request_to(url, method="POST", body="{}", headers=headers, signing_keys=keys, redirects_max=1))

    assert all(peer.seen[1].header(name) for name in CONFIDENTIAL)


async def test_a_redirect_that_drops_the_body_is_signed_anew_without_it(
    peer: HostilePeer, caller: HttpCaller, vault: AesVault
) -> None:
    secret = generate_secret()
    keys = (vault.seal(secret, "tn_1|signing"),)
    url = peer.url("/redirect/to?code=303&to=/redirect/to?code=302%26to=/ok")

    await caller.call(request_to(url, method="POST", body="{}", signing_keys=keys, redirects_max=2))

    timestamp = int(NOW.timestamp())
    assert [seen.header("webhook-signature") for seen in peer.seen] == [
        sign(secret, "ep_1_1893499199500000", timestamp, b"{}"),
        sign(secret, "ep_1_1893499199500000", timestamp, b""),
        sign(secret, "ep_1_1893499199500000", timestamp, b""),
    ]


async def test_one_deadline_covers_all_hops(peer: HostilePeer, caller: HttpCaller) -> None:
    last = peer.url("/slow?ms=60000")

    outcome = await caller.call(request_to(peer.url(f"/redirect/to?to={last}"), redirects_max=5, timeout_ms=200))

    assert (outcome.status, outcome.error_code) == (RunStatus.TIMEOUT, "deadline")
    assert outcome.duration_ms < 20_000
    assert outcome.phases is not None
    assert outcome.phases.total_us >= 190_000


async def test_an_endless_body_of_a_redirect_is_cut_and_the_redirect_followed(
    peer: HostilePeer, caller: HttpCaller
) -> None:
    outcome = await caller.call(request_to(peer.url("/redirect/to?to=/ok"), redirects_max=1, body_cap=3))

    assert outcome.status is RunStatus.SUCCESS
    assert outcome.body is not None
    assert outcome.body.data == b'{"o'


def assert_without_secrets(seen: Seen) -> None:
    assert [seen.header(name) for name in CONFIDENTIAL] == [None] * len(CONFIDENTIAL)
    assert not any(secret in value for _, value in seen.headers for secret in SECRETS)
