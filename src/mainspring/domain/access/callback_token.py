"""The token in a callback URL: which run it ends. Pure.

A token is an encrypted text, so it can neither be guessed nor changed, and is stored nowhere. A run is one attempt at
one slot, so a token is for that attempt alone.
"""

from msgspec import Struct

CALLBACK_PATH = "/callback/"
CALLBACK_HEADER = "Mainspring-Callback-Url"
CALLBACK_PLACE = "callback"  # what tokens are encrypted for
TOKEN_CHARS_MAX = 1_000
_APART = "|"  # in no id


class CallbackTarget(Struct, frozen=True):
    """The run that a callback is for."""

    tenant_id: str
    endpoint_id: str
    run_id: str

    def text(self) -> str:
        return _APART.join((self.tenant_id, self.endpoint_id, self.run_id))


def read_target(text: str) -> CallbackTarget | None:
    parts = text.split(_APART)
    return CallbackTarget(*parts) if len(parts) == 3 else None


def callback_url(site: str, token: str) -> str:
    return f"{site.rstrip('/')}{CALLBACK_PATH}{token}"
