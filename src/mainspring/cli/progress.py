"""A progress bar on standard error for work longer than two seconds, if a person watches.

A separate thread draws the bar, so work need not report its progress: it can be measured from outside, for example by
the size of a growing file. Standard output stays the command's output.
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
    """Progress of work that counts itself."""

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
    """Shows `what` and how much of `total` is done, by `measure` or the count; without a total, that it is running."""
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
        drawer.join()  # the next output starts on a clean line


def size_of(file: Path) -> Measure:
    """The current size of a file; once it was renamed, its last size."""
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
