"""Sign requests as Standard Webhooks asks: HMAC-SHA256 over `id.timestamp.body`, on the raw bytes.

Pure but for `generate_secret`. The `standardwebhooks` package is the oracle in the tests and not used here:
it decodes the body as text, and we sign whatever bytes go out.
"""

import binascii
import hmac
import secrets
from base64 import b64decode, b64encode
from functools import lru_cache

from mainspring.domain.errors import InvalidInput

PREFIX = "whsec_"
SECRET_BYTES = 32
SECRET_BYTES_MIN = 24  # Standard Webhooks: 24 to 64
SECRET_BYTES_MAX = 64


def generate_secret() -> str:
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode("ascii")


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """One signature, `v1,<base64>`. Raises InvalidInput when `secret` is not a `whsec_` secret of 24-64 bytes."""
    content = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    return "v1," + b64encode(hmac.digest(key_bytes(secret), content, "sha256")).decode("ascii")


def signature_header(keys: tuple[str, ...], message_id: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`: one signature a key, so that both verify while a key is being replaced."""
    return " ".join([sign(key, message_id, timestamp, body) for key in keys])


@lru_cache(maxsize=1_024)  # decoding the base64 costs as much as the signature
def key_bytes(secret: str) -> bytes:
    """The key inside a secret; the message of a refusal never shows it."""
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise _refused("is not base64") from None
    if not secret.startswith(PREFIX):
        raise _refused(f"does not begin with {PREFIX}")
    if not SECRET_BYTES_MIN <= len(key) <= SECRET_BYTES_MAX:
        raise _refused(f"holds {len(key)} bytes")
    return key


def _refused(what: str) -> InvalidInput:
    rule = f"a signing secret is {PREFIX} and the base64 of {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes"
    return InvalidInput(f"the signing secret {what}; {rule}; let Mainspring make one", field="secret")
