"""Secrets that are planted, and the search for them in whatever came out."""

import base64

MARK = "Zq81canary"


class Planted:
    """The secrets so far. Each that we choose begins with the mark, so that one search finds any of them."""

    def __init__(self) -> None:
        self.secrets: list[str] = []

    def new(self) -> str:
        self.secrets.append(f"{MARK}{len(self.secrets):05d}x")
        return self.secrets[-1]

    def given(self, secret: str) -> None:
        self.secrets.append(secret)

    def found_in(self, data: bytes) -> list[str]:
        """Which of them lie there as they are, or in base64, hexadecimal or percent encoding."""
        marks = [form(MARK) for form in (str.encode, _hex, _percent)]
        if any(mark in data for mark in marks):
            return [MARK]
        forms = [(secret, form(secret)) for secret in self.secrets for form in (str.encode, _base64)]
        return [secret for secret, form in forms if form in data]


def _hex(text: str) -> bytes:
    return text.encode().hex().encode()


def _percent(text: str) -> bytes:
    return "".join(f"%{byte:02X}" for byte in text.encode()).encode()


def _base64(text: str) -> bytes:
    return base64.b64encode(text.encode()).rstrip(b"=")[:-1]  # the last character also holds what follows
