"""Tables that fit the terminal: short columns keep their width, spare columns are dropped, long text goes below its
row.

In a pipe nothing is cut and every row is one line; on a terminal a row never wraps in the middle of a word. Cells are
external text: control characters are escaped before they are measured.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mainspring.cli.output import Output, show_json
from mainspring.domain.text import spelled_out

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PIPE_WIDTH = 1_000_000
GAP = 2
CUT_WIDTH_MIN = 10
TAIL_WIDTH_MIN = 30  # a sentence in less than this is unreadable

STYLES = {
    "success": "green",
    "failure": "red",
    "timeout": "red",
    "blocked": "red",
    "abandoned": "yellow",
    "retried": "yellow",
    "superseded": "yellow",
    "unknown": "yellow",
    "missed": "yellow",
    "running": "cyan",
    "paused": "yellow",
    "job-paused": "yellow",
    "deferred": "yellow",
    "parked": "red",
    "archived": "dim",
    "ok": "green",
    "warning": "yellow",
    "error": "red",
    "failing": "red",
}


class Column(NamedTuple):
    """`can_cut`: may be shortened. `spare`: dropped without room. `tail`: the last one, long text."""

    heading: str
    can_cut: bool = False
    spare: bool = False
    tail: bool = False


def show_list(
    found: Sequence[object], output: Output, columns: Sequence[Column], rows: Sequence[Sequence[str]], nothing: str
) -> None:
    """The result of a list command: JSON for programs, a table for people, or `nothing` without rows."""
    if output is Output.JSON:
        show_json(found)
    else:
        show_table(columns, rows, nothing)


def show_table(columns: Sequence[Column], rows: Iterable[Sequence[str]], nothing: str) -> None:
    """Rows under headings; words that start with a state's name are coloured on a terminal."""
    cells = [[spelled_out(cell) for cell in row] for row in rows]
    if not cells:
        print(nothing)
        return
    from rich.cells import cell_len

    console, width = _console()
    natural = [
        max(cell_len(column.heading), *(cell_len(row[place]) for row in cells)) for place, column in enumerate(columns)
    ]
    widths, tail_is_below = _fitted(columns, natural, width)
    console.print(_line(columns, [column.heading for column in columns], widths, tail_is_below, "bold"))
    for row in cells:
        console.print(_line(columns, row, widths, tail_is_below))
        if tail_is_below and row[-1]:
            console.print(_below(row[-1], width))


def show_fields(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and values, one pair per line; a long value continues below itself."""
    from rich.text import Text

    shown = [(name, spelled_out(value)) for name, value in pairs]
    console, width = _console()
    left = max(len(name) for name, _ in shown) + GAP
    for name, value in shown:
        lines = Text(value, _style(value)).wrap(console, max(width - left, TAIL_WIDTH_MIN)) or [Text()]
        for number, line in enumerate(lines):
            line.rstrip()
            console.print(Text.assemble((name.ljust(left) if number == 0 else " " * left, "bold"), line))


def _fitted(columns: Sequence[Column], natural: list[int], width: int) -> tuple[list[int], bool]:
    """The width of each column, 0 for a dropped one; and whether the tail goes below its row.

    1. The tail gives up its place first: it gets what the others leave, or a separate line.
    2. Then spare columns are dropped, from the right.
    3. Then the widest of those that can be cut are cut.
    """
    widths = list(natural)
    tail = len(columns) - 1 if columns[-1].tail else None
    if tail is not None:
        widths[tail] = 0
    for place in reversed(range(len(columns))):
        if _total(widths) > width and columns[place].spare:
            widths[place] = 0
    while _total(widths) > width:
        cuttable = [at for at, column in enumerate(columns) if column.can_cut and widths[at] > CUT_WIDTH_MIN]
        if not cuttable:
            break
        widths[max(cuttable, key=lambda at: widths[at])] -= 1
    if tail is None:
        return widths, False
    room = width - _total(widths) - GAP
    if room >= min(natural[tail], TAIL_WIDTH_MIN):
        widths[tail] = min(natural[tail], room)
        return widths, False
    return widths, True


def _total(widths: list[int]) -> int:
    used = [each for each in widths if each]
    return sum(used) + GAP * (len(used) - 1)


def _line(
    columns: Sequence[Column], cells: Sequence[str], widths: list[int], tail_is_below: bool, style: str = ""
) -> "Text":
    from rich.text import Text

    line = Text()
    for place, (column, cell, width) in enumerate(zip(columns, cells, widths, strict=True)):
        if width == 0 or (column.tail and tail_is_below):
            continue
        text = Text(cell, style or _style(cell))
        is_last = not any(widths[place + 1 :])
        text.truncate(width, overflow="ellipsis", pad=not is_last)
        line.append_text(text).append("" if is_last else " " * GAP)
    line.rstrip()
    return line


def _below(text: str, width: int) -> "Text":
    from rich.text import Text

    line = Text(f"  {text}", "dim")
    line.truncate(width, overflow="ellipsis")
    return line


def _style(cell: str) -> str:
    return STYLES.get(cell.partition(" ")[0].rstrip(","), "")


def _console() -> tuple["Console", int]:
    """The console and its width; COLUMNS overrides it."""
    from rich.console import Console

    is_free = not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdigit()
    width = PIPE_WIDTH if is_free else None
    console = Console(file=sys.stdout, width=width, markup=False, highlight=False, emoji=False, soft_wrap=True)
    return console, console.width
