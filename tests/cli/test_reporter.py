"""`serve` on a terminal shows failures, recoveries and alerts; in a pipe it does not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event as ThreadEvent

import pytest

from mainspring.cli.reporter import BACKLOG_MAX, Reporter, patient_writer
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import RunStatus
from mainspring.event_feed import Feed
from mainspring.ports.stores import Stores
from tests.cli.local_and_remote import Pair
from tests.cli.shell import Shell
from tests.harness.processes import COMMAND, IN_A_TERMINAL, Processes
from tests.peers.journal import Journal
from tests.stores.world import an_outcome, claim, finished

FAILED = an_outcome(RunStatus.FAILURE, error="HTTP 500; expected 2xx", error_code="http_status")


class Screen:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._came = asyncio.Event()

    def write(self, line: str) -> None:
        self.lines.append(line.partition("  ")[2])
        self._came.set()

    async def has(self, count: int) -> list[str]:
        async with asyncio.timeout(30):
            while len(self.lines) < count:
                self._came.clear()
                await self._came.wait()
        return self.lines


def assert_that(good: bool) -> None:
    assert good


@asynccontextmanager
async def watched(stores: Stores) -> AsyncIterator[Screen]:
    feed, screen = Feed(stores.runs, poll_s=0.01), Screen()
    reporter = Reporter(stores, feed, "default", screen.write)
    tasks = [asyncio.create_task(worker.run()) for worker in (feed, reporter)]
    while not feed.listeners:  # noqa: ASYNC110  # a feed tells nobody that it is listened to
        await asyncio.sleep(0)
    yield screen
    for worker in (reporter, feed):
        worker.stop()
    async with asyncio.timeout(10):
        await asyncio.gather(*tasks)


async def test_failures_are_shown_at_powers_of_two_and_recoveries_once(pair: Pair) -> None:
    await pair.json("endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h", "--no-spread")
    batch = await claim(pair.stores)
    ((endpoint, first),) = [(each.endpoint, each.run_id) for each in batch.claims]
    async with watched(pair.stores) as screen:
        await pair.stores.schedule.finish([finished(each, FAILED) for each in batch.claims])
        await screen.has(1)
        now = await pair.stores.schedule.now()
        later: list[dict[str, object]] = [
            {"status": "failure", "error_code": "connect", "failure_count": count} for count in (2, 3, 4)
        ]
        ends: list[dict[str, object]] = [*later, {"status": "success"}, {"status": "success"}]
        finishes = [Event(EventType.RUN_FINISHED, now, "default", endpoint.id, f"{first}x", data=data) for data in ends]
        await pair.stores.runs.add_events([*finishes, finishes[0]])
        lines = await screen.has(5)

    assert lines == [
        "health failed: HTTP 500; expected 2xx",
        "health failed (2 in a row): connect",
        "health failed (4 in a row): connect",
        "health recovered",
        "health failed (2 in a row): connect",
    ]


async def test_alerts_and_stopped_executions_are_shown(pair: Pair) -> None:
    now = await pair.stores.schedule.now() + timedelta(seconds=1)
    async with watched(pair.stores) as screen:
        await pair.stores.runs.add_events(
            [
                Event(
                    EventType.ALERT_FIRED, now, "default", data={"alert": "ops", "subject": "health", "kind": "late"}
                ),
                Event(
                    EventType.EXECUTION_FAILED,
                    now,
                    "default",
                    data={"workflow": "order", "execution": "exe_1", "step": "pay", "error": "HTTP 402"},
                ),
            ]
        )
        lines = await screen.has(2)

    assert lines == ["alert ops: health late", "order (exe_1) stopped at step pay: HTTP 402"]


def test_terminal_that_does_not_read_blocks_nothing() -> None:
    reads = ThreadEvent()
    write = patient_writer(lambda _: assert_that(reads.wait(30)))

    for number in range(BACKLOG_MAX * 2):
        write(str(number))

    reads.set()


@pytest.mark.parametrize("is_terminal", [True, False], ids=["on a terminal", "in a pipe"])
def test_serve_shows_failures_only_on_a_terminal(
    shell: Shell, processes: Processes, tmp_path: Path, is_terminal: bool
) -> None:
    shell.env |= {"MAINSPRING_ALLOW_CIDRS": "127.0.0.0/8", "MAINSPRING_PORT": "0"}
    env = {name: value for name, value in shell.env.items() if value is not None}
    with Journal(tmp_path / "journal") as journal:
        wrapped = IN_A_TERMINAL if is_terminal else []
        server = processes.start_command([*wrapped, *COMMAND, "serve"], env=env)
        server.wait_for("listening on http://")
        shell.add("broken", "--every", "1h", url=journal.url("/x?status=500%20Oops"))
        shell("endpoint", "run", "broken", "--wait")
        shell("endpoint", "run", "broken", "--wait")
        if is_terminal:
            server.wait_for("broken failed: HTTP 500")
        server.close()

    assert is_terminal or "broken failed" not in server.output
