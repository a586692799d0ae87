"""Sign requests by Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, on the raw bytes.

Pure except for `generate_secret`. The `standardwebhooks` package is only the reference in the tests: it decodes the
body as text, and we sign the exact bytes that go out.
"""

import hmac
import secrets
from base64 import b64encode

from mainspring.domain.access.signing import PREFIX, key_bytes

SECRET_BYTES = 32


def generate_secret() -> str:
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode("ascii")


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """One signature, `v1,<base64>`. Raises InvalidInput when `secret` is not a `whsec_` secret of 24-64 bytes."""
    content = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    return "v1," + b64encode(hmac.digest(key_bytes(secret), content, "sha256")).decode("ascii")


def signature_header(keys: tuple[str, ...], message_id: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`: one signature per key, so that both verify while a key is being replaced."""
    return " ".join([sign(key, message_id, timestamp, body) for key in keys])
