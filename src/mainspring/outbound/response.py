"""Parse the raw head of a response. Pure, and safe for anything a peer sends.

libcurl refuses most invalid heads itself (NUL, bare CR, lines without a colon, differing lengths); `fault_of` refuses
the rest.
"""

import re
from datetime import UTC, datetime

HEAD_BYTES_MAX = 64_000
HEADERS_KEPT_MAX = 100
RETRY_AFTER_S_MAX = 86_400
LENGTH_MAX = 2**63 - 1

Headers = tuple[tuple[str, str], ...]

_DIGITS = re.compile(r"[0-9]{1,19}")
# A target sends the same lines with every response; parsing a line costs ten times a lookup.
_known_lines: dict[bytes, tuple[str, str]] = {}
KNOWN_LINES_MAX = 1_024
KNOWN_LINE_BYTES_MAX = 200


def read_headers(lines: list[bytes]) -> Headers:
    """The headers of the last response in `lines`, names in lower case, at most 100, safe to show."""
    start = 0
    for place in range(len(lines) - 1, 0, -1):
        if lines[place][:5] == b"HTTP/" and not lines[place - 1].strip():
            start = place
            break
    known = _known_lines
    headers = []
    for line in lines[start + 1 : start + 1 + HEADERS_KEPT_MAX + 1]:
        header = known.get(line) or _read_line(line)
        if header[0]:
            headers.append(header)
    return tuple(headers[:HEADERS_KEPT_MAX])


def value_of(headers: Headers, name: str) -> str | None:
    for key, value in headers:
        if key == name:
            return value
    return None


def fault_of(headers: Headers) -> str | None:
    """What is wrong with the framing, if libcurl was more lenient than we are."""
    for name, value in headers:
        if name == "content-length" and not (_DIGITS.fullmatch(value) and int(value) <= LENGTH_MAX):
            return f"the response has the Content-Length {value[:40]!r}, which is not a length"
    return None


def retry_after_s(headers: Headers, now: datetime) -> int | None:
    """Seconds from now that the target asks us to wait, within a day; None if there is no valid request to wait."""
    value = value_of(headers, "retry-after")
    if value is None:
        return None
    if _DIGITS.fullmatch(value):
        return min(int(value), RETRY_AFTER_S_MAX)
    at = http_date(value)
    return None if at is None else int(min(max((at - now).total_seconds(), 0), RETRY_AFTER_S_MAX))


def http_date(value: str) -> datetime | None:
    """An HTTP date, in any of its three forms."""
    from email.utils import parsedate_to_datetime  # rare, and email is a large import

    try:
        at = parsedate_to_datetime(value)
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


def _read_line(line: bytes) -> tuple[str, str]:
    """Name and value, or ("", "") for the empty line that ends a head."""
    name, _, value = line.decode("ascii", "backslashreplace").partition(":")
    value = value.strip()
    header = (name.strip().lower(), value if value.isprintable() else _escaped(value))
    if len(line) <= KNOWN_LINE_BYTES_MAX:
        if len(_known_lines) >= KNOWN_LINES_MAX:
            _known_lines.clear()
        _known_lines[line] = header
    return header


def _escaped(value: str) -> str:
    return value.encode("unicode_escape").decode("ascii")
