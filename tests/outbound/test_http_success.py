"""What a response must contain, and how long its certificate must be valid, against real peers."""

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput
from mainspring.domain.kinds.http import HttpKind
from mainspring.domain.kinds.kind import CallPolicy
from mainspring.domain.run import HttpAction, Outcome, RunStatus
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.vault import AesVault
from tests.outbound.conftest import LOOPBACK, request_to
from tests.peers.certificate import make_tls
from tests.peers.hostile import HostilePeer

NOW = datetime.now(UTC)  # certificates are verified by the machine's clock
TLS = tuple[ssl.SSLContext, str]


@pytest.fixture
def peer_tls(tmp_path: Path) -> TLS:
    return make_tls(tmp_path, NOW)


async def call(action: HttpAction, vault: AesVault, ca_file: str | None = None, times: int = 1) -> list[Outcome]:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW, ca_file=ca_file)
    try:
        return [await caller.call(replace(request_to(action.url), action=action)) for _ in range(times)]
    finally:
        await caller.aclose()


def verdict(outcome: Outcome) -> tuple[RunStatus, str | None, str | None]:
    return outcome.status, outcome.error_code, outcome.error


async def test_response_must_contain_the_text(peer: HostilePeer, vault: AesVault) -> None:
    url = peer.url("/answer?body=Add%20to%20cart")
    [found] = await call(HttpAction(url, contains="to cart"), vault)
    [missing] = await call(HttpAction(url, contains="Sold out"), vault)
    [cut] = await call(HttpAction(url, contains="cart", body_cap=5), vault)

    assert found.status is RunStatus.SUCCESS
    assert verdict(missing) == (RunStatus.FAILURE, "unexpected", "the response does not contain 'Sold out'")
    assert verdict(cut) == (
        RunStatus.FAILURE, "unexpected", "the first 5 bytes of the response do not contain 'cart'",
    )  # fmt: skip


async def test_response_must_match_the_pattern(peer: HostilePeer, vault: AesVault) -> None:
    url = peer.url("/answer?body=version:%2012.4")
    [found] = await call(HttpAction(url, matches=r"version: \d+\.\d+"), vault)
    [missing] = await call(HttpAction(url, matches=r"^\d"), vault)

    assert found.status is RunStatus.SUCCESS
    assert verdict(missing) == (RunStatus.FAILURE, "unexpected", r"the response does not match '^\\d'")


async def test_certificate_is_a_fact_of_every_call_that_asks_for_it(peer_tls: TLS, vault: AesVault) -> None:
    context, ca_file = peer_tls
    async with HostilePeer(tls=context) as peer:
        url = peer.url("/answer?body=x")
        condition = (
            'tls.days_left == 0 && tls.issuer.contains("mainspring test peer") && headers["content-length"] == "1"'
        )
        outcomes = await call(HttpAction(url, condition=condition), vault, ca_file, times=3)
        [unasked] = await call(HttpAction(url), vault, ca_file)

    assert [verdict(each) for each in outcomes] == [(RunStatus.SUCCESS, None, None)] * 3
    assert outcomes[0].certificate is not None
    assert outcomes[0].certificate.facts["subject"] == outcomes[0].certificate.issuer
    assert unasked.certificate is None


async def test_certificate_that_expires_soon_warns_and_then_fails(peer_tls: TLS, vault: AesVault) -> None:
    context, ca_file = peer_tls
    async with HostilePeer(tls=context) as peer:
        url = peer.url("/answer?body=x")
        [warned] = await call(HttpAction(url, warn_days=14), vault, ca_file)
        [failed] = await call(HttpAction(url, warn_days=14, fail_days=7), vault, ca_file)
        [failed_otherwise] = await call(HttpAction(url, warn_days=14, contains="y"), vault, ca_file)

    assert verdict(warned) == (
        RunStatus.SUCCESS, "certificate_expiring", "the certificate expires in 0 days; renew it",
    )  # fmt: skip
    assert verdict(failed) == (
        RunStatus.FAILURE, "certificate_expiring", "the certificate expires in 0 days; at least 7 must be left",
    )  # fmt: skip
    assert failed_otherwise.error_code == "unexpected"


async def test_target_without_tls_has_no_certificate(peer: HostilePeer, vault: AesVault) -> None:
    [outcome] = await call(HttpAction(peer.url("/answer?body=x"), condition="tls == null"), vault)

    assert (outcome.status, outcome.certificate) == (RunStatus.SUCCESS, None)


@pytest.mark.parametrize(
    ("action", "field"),
    [
        pytest.param(HttpAction("http://example.com/", warn_days=7), "warn_days", id="days without https"),
        pytest.param(HttpAction("http://example.com/", fail_days=7), "fail_days", id="failing days without https"),
        pytest.param(HttpAction("https://example.com/", warn_days=3, fail_days=7), "warn_days", id="warns too late"),
        pytest.param(HttpAction("https://example.com/", method="HEAD", contains="x"), "contains", id="text of a HEAD"),
        pytest.param(HttpAction("https://example.com/", method="HEAD", matches="x"), "matches", id="pattern of a HEAD"),
        pytest.param(HttpAction("https://example.com/", matches="("), "matches", id="an invalid pattern"),
    ],
)
def test_what_could_never_succeed_is_refused(action: HttpAction, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        HttpKind().check(action, CallPolicy())

    assert refused.value.field == field
