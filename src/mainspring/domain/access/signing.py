"""Signing secrets in the format of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. Pure."""

import binascii
from base64 import b64decode
from functools import lru_cache

from mainspring.domain.errors import InvalidInput

PREFIX = "whsec_"
SECRET_BYTES_MIN = 24  # Standard Webhooks: 24 to 64
SECRET_BYTES_MAX = 64


@lru_cache(maxsize=1_024)  # decoding the base64 costs as much as the signature
def key_bytes(secret: str) -> bytes:
    """The key inside a secret. An error message never contains it."""
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise _refused("is not base64") from None
    if not secret.startswith(PREFIX):
        raise _refused(f"does not start with {PREFIX}")
    if not SECRET_BYTES_MIN <= len(key) <= SECRET_BYTES_MAX:
        raise _refused(f"holds {len(key)} bytes")
    return key


def _refused(what: str) -> InvalidInput:
    rule = f"a signing secret is {PREFIX} and the base64 of {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes"
    return InvalidInput(f"the signing secret {what}; {rule}; let Mainspring create one", field="secret")
