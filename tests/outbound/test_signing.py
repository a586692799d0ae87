"""Promise S3: signatures any Standard Webhooks receiver accepts, over whatever bytes go out."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis.strategies import binary, integers, text
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from mainspring.domain.access.signing import key_bytes
from mainspring.domain.errors import InvalidInput
from mainspring.outbound.signing import generate_secret, sign, signature_header

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def headers_for(secret: str, body: bytes, at: datetime) -> dict[str, str]:
    timestamp = int(at.timestamp())
    return {
        "webhook-id": "ep_1_5",
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature_header((secret,), "ep_1_5", timestamp, body),
    }


def test_the_example_of_the_standard_is_reproduced() -> None:
    body = b'{"test": 2432232314}'

    assert sign(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


@given(text())
def test_every_text_body_verifies_with_the_official_package(body: str) -> None:
    now = datetime.now(UTC)
    raw = body.encode("utf-8", "replace")

    assert Webhook(SECRET).sign("ep_1_5", now, raw.decode()) == sign(SECRET, "ep_1_5", int(now.timestamp()), raw)


@given(binary(max_size=2_000), integers(0, 2**40))
def test_every_binary_body_verifies_with_an_independent_hmac(body: bytes, timestamp: int) -> None:
    content = b".".join((b"ep_1_5", str(timestamp).encode(), body))
    expected = base64.b64encode(hmac.new(key_bytes(SECRET), content, hashlib.sha256).digest()).decode()

    assert sign(SECRET, "ep_1_5", timestamp, body) == f"v1,{expected}"


def test_a_megabyte_is_signed_like_any_other_body() -> None:
    body = b'"' + b"x" * 1_000_000 + b'"'

    assert Webhook(SECRET).verify(body, headers_for(SECRET, body, datetime.now(UTC)))


@pytest.mark.parametrize("change", ["body", "id", "timestamp", "signature", "secret"])
def test_a_changed_part_does_not_verify(change: str) -> None:
    body = b'{"a": 1}'
    headers = headers_for(generate_secret() if change == "secret" else SECRET, body, datetime.now(UTC))
    match change:
        case "body":
            body = b'{"a": 2}'
        case "id":
            headers["webhook-id"] += "0"
        case "timestamp":
            headers["webhook-timestamp"] = str(int(headers["webhook-timestamp"]) + 1)
        case "signature":
            headers["webhook-signature"] = "v1,AAAA"

    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body, headers)


@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_signature_is_good_for_five_minutes(minutes: int) -> None:
    headers = headers_for(SECRET, b"{}", datetime.now(UTC) + timedelta(minutes=minutes))

    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(b"{}", headers)


def test_two_keys_give_two_signatures_newest_first() -> None:
    other = generate_secret()

    assert signature_header((SECRET, other), "ep_1_5", 7, b"x") == (
        f"{sign(SECRET, 'ep_1_5', 7, b'x')} {sign(other, 'ep_1_5', 7, b'x')}"
    )


def test_a_generated_secret_is_new_and_of_32_bytes() -> None:
    secrets = {generate_secret() for _ in range(100)}

    assert len(secrets) == 100
    assert {len(key_bytes(secret)) for secret in secrets} == {32}


@pytest.mark.parametrize(
    "secret",
    ["", "whsec_", "whsec_!!!!", "whsec_" + "A" * 28, "whsec_" + "A" * 92, "A" * 44],
    ids=["empty", "prefix_only", "not_base64", "21_bytes", "69_bytes", "no_prefix"],
)
def test_a_bad_secret_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        sign(secret, "ep_1_5", 7, b"")

    assert "let Mainspring create one" in str(refusal.value)
    assert not secret[6:] or secret[6:] not in str(refusal.value)
