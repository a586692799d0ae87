"""Errors in documents and their position: file, line, column, a caret under the source line, and the fix.

A document is read to its end, so that all of its errors are reported at once.
"""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput
from mainspring.domain.kinds.http import speaks_of_a_secret
from mainspring.domain.text import spelled_out

SHOWN_FAULTS_MAX = 50
HIDDEN = "…"
LINE_CHARS_MAX = 160
# Values of headers, a password in a URL, and destinations of alerts: in the URL of a chat the path is the secret.
_SECRET = re.compile(r"""\b(headers|value)["']?\s*:\s*\S|://[^/\s]*@|\bto["']?\s*:.*://""")


class SourcePlace(Struct, frozen=True):
    """A position in a file: lines and columns count from 1."""

    file: str
    line: int = 1
    column: int = 1
    length: int = 1
    source: str = ""  # the line itself

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def masked(self) -> "SourcePlace":
        """The same position without the text, which may be a secret."""
        return replace(self, length=1, source=f"{self.source[: self.column - 1]}{HIDDEN}" if self.source else "")

    @property
    def is_masked(self) -> bool:
        return self.source.endswith(HIDDEN) and len(self.source) == self.column


class DocumentFault(Struct, frozen=True):
    place: SourcePlace
    message: str

    def __str__(self) -> str:
        """The message, and under it the line with a caret; control characters are escaped.

        A line that may contain a secret is left out, wherever the error is in it.
        """
        place = self.place
        head = f"{spelled_out(str(place))}: {spelled_out(self.message)}"
        if not place.source.strip() or speaks_of_a_secret(place.source) or _SECRET.search(place.source):
            return head
        line, start = _window(place.source.replace("\t", " "), place.column - 1)
        carets = "^" * max(1, min(place.length, len(line) - start))
        gutter = str(place.line)
        return f"{head}\n  {gutter} | {spelled_out(line)}\n  {' ' * len(gutter)} | {' ' * start}{carets}"


class InvalidDocument(InvalidInput):
    """Documents that cannot be applied; `faults` lists all errors, in the order of the files."""

    def __init__(self, faults: Sequence[DocumentFault]) -> None:
        first = faults[0]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{first.place}: {first.message}{more}", field=str(first.place))
        self.faults = tuple(faults)

    def in_full(self) -> str:
        """Every error with its source line; only the first of very many."""
        shown = [str(fault) for fault in self.faults[:SHOWN_FAULTS_MAX]]
        left = len(self.faults) - len(shown)
        return "\n".join([*shown, f"... and {left:,} more"] if left else shown)


def _window(line: str, start: int) -> tuple[str, int]:
    """The part of a long line around a column, and the column within it."""
    if len(line) <= LINE_CHARS_MAX:
        return line, start
    cut = max(0, start - LINE_CHARS_MAX // 2)
    return line[cut : cut + LINE_CHARS_MAX], start - cut
