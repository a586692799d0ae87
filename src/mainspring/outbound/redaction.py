"""Remove secrets that a target echoes from what is stored of its response. Pure."""

from msgspec.structs import replace

from mainspring.domain.run import Outcome

REDACTED = b"[redacted]"
REDACTED_CHARS_MIN = 6  # a shorter secret occurs in every text


def redacted(outcome: Outcome, secrets: list[str]) -> Outcome:
    """The outcome without the values sent as secrets, whole or as their last word (`Bearer <token>`).

    Matches values as sent; a secret that a target encodes before echoing it is not found.
    """
    found = {
        text for value in secrets for text in (value.strip(), value.split(" ")[-1]) if len(text) >= REDACTED_CHARS_MIN
    }
    texts = sorted(found, key=len, reverse=True)
    body = outcome.body
    if body is not None:
        data = body.data
        for text in texts:
            raw = _raw(text)
            data = data.replace(raw, REDACTED)
            if body.truncated:
                data = _without_cut_secret(data, raw)
        body = replace(body, data=data)
    headers = tuple([(name, _hide(value, texts)) for name, value in outcome.headers])
    error = None if outcome.error is None else _hide(outcome.error, texts)
    return replace(outcome, body=body, headers=headers, error=error)


def _raw(text: str) -> bytes:
    """As sent; a value decoded from a query string may hold any character."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def _hide(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, REDACTED.decode("ascii"))
    return text


def _without_cut_secret(data: bytes, secret: bytes) -> bytes:
    """A body cut in the middle of a secret ends with its beginning, which is redacted too."""
    for length in range(len(secret) - 1, REDACTED_CHARS_MIN - 1, -1):
        if data.endswith(secret[:length]):
            return data[:-length] + REDACTED
    return data
