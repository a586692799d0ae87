"""A bar on standard error for work that takes longer than two seconds, where a person watches; else nothing.

The bar is drawn by a thread of its own, so that work which knows nothing of it need not report: what is done can be
measured from outside, such as the size of a file that grows. Standard output stays the command's answer.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TextIO

AFTER_S = 2.0
REDRAW_S = 0.1

Measure = Callable[[], int]


class Count:
    """How much is done, for work that counts itself."""

    def __init__(self) -> None:
        self.done = 0

    def advance(self) -> None:
        self.done += 1


@contextmanager
def progress(
    what: str,
    total: int | None = None,
    measure: Measure | None = None,
    *,
    stream: TextIO | None = None,
    after_s: float = AFTER_S,
) -> Iterator[Count]:
    """Show `what` and how much of `total` is done, as `measure` or the count says; without a total, that it goes on."""
    stream = stream or sys.stderr
    count = Count()
    if not stream.isatty():
        yield count
        return
    ended = Event()
    drawer = Thread(
        target=_draw,
        args=(what, total, measure or (lambda: count.done), stream, after_s, ended),
        name="progress",
        daemon=True,
    )
    drawer.start()
    try:
        yield count
    finally:
        ended.set()
        drawer.join()  # whatever is printed next begins on a clean line


def size_of(file: Path) -> Measure:
    """The bytes that a file has by now; once it was renamed, as many as it had at last."""
    most = 0

    def measure() -> int:
        nonlocal most
        with suppress(OSError):
            most = max(most, file.stat().st_size)
        return most

    return measure


def _draw(what: str, total: int | None, measure: Measure, stream: TextIO, after_s: float, ended: Event) -> None:
    if ended.wait(after_s):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(file=stream, markup=False, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(what, total=total)
        while not ended.wait(REDRAW_S):
            bar.update(task, completed=min(measure(), total or 0), refresh=True)
