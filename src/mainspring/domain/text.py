"""Make untrusted text safe to store and safe to show. Pure; neither function parses or fails.

`check_text` refuses text written by people that cannot be stored or shown. `clean_text` removes what a database refuses
(NUL, lone surrogates) and keeps the rest. `sanitised_view` shows a body to a person, so it also escapes characters that
control a terminal or mislead readers. The last two parse nothing and never fail.
"""

import re
import unicodedata

from mainspring.domain.errors import InvalidInput

REPLACEMENT = "\ufffd"
VIEW_CHARSETS = ("utf-8", "us-ascii", "iso-8859-1", "latin-1", "windows-1252", "utf-16", "utf-16le", "utf-16be")

_CHARSET = re.compile(r"charset\s*=\s*\"?([a-z0-9._-]{1,40})", re.IGNORECASE)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # category Cc without NUL, tab and line breaks
# C0 and C1 controls except tab and newline; soft hyphen; bidi marks and overrides; zero-width and invisible characters;
# line separators other than newline; variation and tag characters that can carry hidden text.
_ACTING = re.compile(
    "[\x01-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def check_text(text: str, field: str, most: int, *, is_payload: bool = False) -> str:
    """Free text, NFC: at most `most` characters, no NUL and no lone surrogate (PostgreSQL stores neither).

    Text for people has line breaks and tabs but no other control characters; a payload is sent unchanged.
    """
    if len(text) > most:
        raise InvalidInput(
            f"{field} has {len(text):,} characters; at most {most:,} are kept, shorten it", field=field, value=len(text)
        )
    if _UNSTORABLE.search(text):
        raise InvalidInput(
            f"{field} contains a NUL or half a surrogate pair; these are not text, remove them", field=field
        )
    if is_payload:
        return text
    if (found := _CONTROL.search(text)) is not None:
        raise InvalidInput(
            f"{field} contains a control character (U+{ord(found[0]):04X}); it is text for people: remove it",
            field=field,
        )
    return unicodedata.normalize("NFC", text)


def clean_text(text: str, chars_max: int) -> str:
    """`text` with NUL and lone surrogates as U+FFFD, cut to `chars_max` characters ending in an ellipsis."""
    if len(text) > chars_max:
        text = text[: chars_max - 1] + "…" if chars_max > 0 else ""
    return _UNSTORABLE.sub(REPLACEMENT, text)


def sanitised_view(data: bytes, content_type: str = "") -> str:
    """A body as text: NUL and undecodable bytes as U+FFFD, control characters escaped (`\x1b`, `\u202e`)."""
    text = data.decode(_charset(content_type), "replace")
    text = _UNSTORABLE.sub(REPLACEMENT, text).replace("\r\n", "\n")
    return _ACTING.sub(_spelled, text)


def spelled_out(text: str) -> str:
    """One line of text with all control characters, newlines included, escaped: for logs and terminals."""
    text = _UNSTORABLE.sub(REPLACEMENT, text).replace("\n", "\\n").replace("\t", "\\t")
    return _ACTING.sub(_spelled, text)


def _charset(content_type: str) -> str:
    found = _CHARSET.search(content_type)
    charset = found.group(1).lower() if found else "utf-8"
    return charset if charset in VIEW_CHARSETS else "utf-8"


def _spelled(found: re.Match[str]) -> str:
    point = ord(found.group())
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
