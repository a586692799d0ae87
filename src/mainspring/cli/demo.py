"""`mainspring demo`: everything at once, with a sample shop, removed at the end."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.command import complete
from mainspring.cli.output import say

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.simulation.shop import Shop

FOLDER = "mainspring-demo-"
SPEED_MAX = 60.0  # then a minute takes a second, and no limit of an endpoint is shorter
HOST = "127.0.0.1"
ENDS = (signal.SIGTERM, signal.SIGINT)


def demo(
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port to listen on; 0 picks a free one.")] = 0,
    speed: Annotated[float, typer.Option("--speed", min=1, max=SPEED_MAX, help="Speed relative to real time.")] = 15.0,
) -> None:
    """Show a shop's flash sale, live: surge, adaptation, woken investigators, alerts, recovery.

    Starts everything with a temporary database and prints one link. No login is required, so it listens on this machine
    only. Your settings and your database are not touched. Ctrl-C ends it and removes everything it created.
    """
    signal.pthread_sigmask(
        signal.SIG_BLOCK, ENDS
    )  # signals wait until the loop listens, so that the directory is removed
    with _folder() as folder:
        complete(_demo(folder, port, speed))


async def _demo(folder: Path, port: int, speed: float) -> None:
    """Signals before and after the supervisor also end it in order."""
    import asyncio

    work = asyncio.ensure_future(_run(folder, port, speed))
    loop = asyncio.get_running_loop()
    for number in ENDS:
        loop.add_signal_handler(number, work.cancel)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    try:
        await work
    except asyncio.CancelledError:
        pass
    finally:
        for number in ENDS:
            signal.signal(number, signal.SIG_IGN)


async def _run(folder: Path, port: int, speed: float) -> None:
    from mainspring.observe import set_up_logging
    from mainspring.simulation.demo import BEGINS_AT, Day, demo_scenario, furnish, shop_shape
    from mainspring.simulation.shop import Shop
    from mainspring.wiring.clock import SystemClock
    from mainspring.wiring.web import open_web
    from mainspring.wiring.workers import open_notification_workers, open_scheduler

    set_up_logging("auto", "warning")
    shop = Shop(demo_scenario(), speed, SystemClock(), begins_at=BEGINS_AT)
    await shop.open()
    try:
        settings = _settings(folder, port, shop)
        async with (
            open_scheduler(settings) as running,
            open_notification_workers(settings, running.desk, running.metrics) as notices,
        ):
            await furnish(running.desk, shop, notices.messengers)
            day = Day(running.desk, shop, say_now)
            with open_web(settings, running, notices, _greeter(shop), lambda: shop_shape(shop)) as workers:
                await running.supervise(
                    *workers, shop, day, notices=notices, last_act=lambda: shutil.rmtree(folder, ignore_errors=True)
                )
    finally:
        await shop.aclose()
    say("The demo has ended; everything it created was removed.")


def _settings(folder: Path, port: int, shop: "Shop") -> "Settings":
    """Separate settings, regardless of the environment: a demo must not write into a real database."""
    from datetime import timedelta
    from ipaddress import ip_network

    from mainspring.settings import Settings

    return Settings(
        data_dir=folder,
        host=HOST,
        port=port,
        allow_cidrs=(ip_network(shop.address),),
        shutdown_grace=timedelta(seconds=1),
        api_requests_per_minute=0,
        api_requests_per_minute_of_tenant=0,
    )


def _greeter(shop: "Shop") -> Callable[[str], None]:
    from mainspring.domain.duration import format_duration
    from mainspring.wiring.web import has_pages

    minutes = shop.scenario.minutes
    lasts = format_duration(round(minutes * 60 / shop.speed) * 1000)

    def greet(url: str) -> None:
        shop.restart()
        say(f"Mainspring demo: a shop's flash sale, {minutes:g} minutes in {lasts}, repeated.")
        say("")
        say(f"  Open {url}/demo")
        say("")
        if not has_pages():
            say("The web UI is not built here, so that page is empty until `make web`; the story is printed below.")
        say(
            "No login is required, so it listens on this machine only. Ctrl-C ends it and removes "
            "everything it created."
        )
        say("")
        sys.stdout.flush()

    return greet


def say_now(text: str) -> None:
    say(text)
    sys.stdout.flush()


@contextmanager
def _folder() -> Iterator[Path]:
    """A directory for the database, removed at the end; those of killed demos are removed at the next start."""
    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{FOLDER}*"):
        if _is_left_behind(left):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_left_behind(folder: Path) -> bool:
    pid = folder.name.removeprefix(FOLDER).partition("-")[0]
    if not pid.isdigit() or folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False
