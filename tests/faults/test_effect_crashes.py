"""A crash at every point between intent, send and record: nothing is silent, and nothing goes out under a second key.

For each point a database of its own, and a real process that kills itself there with calls and letters in its hands; a
second process finds what the first one left. What may go out more than once does so under the same key; what may not
ends as unknown, for a person.
"""

import asyncio
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import pytest

from mainspring.failpoints import VARIABLE
from mainspring.ports.stores import Stores
from mainspring.workers.dispatcher import LOST
from mainspring.workflow.audit import effect_key
from mainspring.workflow.model import ExecutionState, Status
from tests.faults.conftest import Figures
from tests.faults.stage import Stage
from tests.faults.worker_forker import Nursery
from tests.harness.waiting import until, until_true
from tests.peers.journal import Journal
from tests.peers.post_office import PostOffice
from tests.stores.flow_world import a_workflow, publish, start

TICK_MS = 50
ASK_S = 0.1
AT_ONCE = 5
POINTS = ("before_tick_commit", "after_tick_commit", "after_effect_claim", "after_effect_send", "after_effect_record")
SHORT = {"sqlite": POINTS, "postgres": ("after_effect_claim", "after_effect_send")}
KINDS = ("call", "call-once", "letter", "letter-once")
SETTINGS = {"tick_interval": "50ms", "ticker_lease": "500ms", "lease_margin": "500ms", "mail_from": "shop@example.com"}

Deliveries = dict[str, list[str]]  # keys, by the name of the execution


class Crash:
    """Executions of all kinds, whose process dies at one point."""

    def __init__(self, stage: Stage, nursery: Nursery, point: str, number: int) -> None:
        self._stage, self._nursery, self.point = stage, nursery, point
        self.names = {kind: f"{number}.{point}.{kind}" for kind in KINDS}

    async def play(self, journal: Journal) -> dict[str, ExecutionState]:
        env = {name: text for name, text in self._stage.env().items() if name.endswith(("DATABASE_URL", "_DIR"))}
        async with self._stage.stores() as stores:
            await stores.flows.workflows.clock(0, TICK_MS)
            now = await stores.flows.workflows.now()  # one tick for all: whoever claims one effect claims all of them
            for kind in KINDS:
                await self._begin(stores, journal, kind, now)
            first = self._nursery.start(env | {VARIABLE: f"{self.point}=kill"})
            await until(lambda: not first.is_running, f"it dies {self.point}", 120)
            second = self._nursery.start(env)
            states = {kind: await self._settled(stores, kind) for kind in KINDS}
            second.kill()
        return states

    async def _begin(self, stores: Stores, journal: Journal, kind: str, at: datetime) -> None:
        name = self.names[kind]
        letter = {"to": "ann@example.com", "subject": name, "body": "How was it?"}
        what = {"email": letter} if kind.startswith("letter") else {"call": {"url": journal.url(f"/{name}")}}
        once = {"idempotency": "at_most_once"} if kind.endswith("once") else {}
        step = {**what, **once, "timeout": "8s"}  # ten processes start beside it
        await start(stores, await publish(stores, a_workflow(step, {"end": "done"}, name=kind)), name, at=at)

    async def _settled(self, stores: Stores, kind: str) -> ExecutionState:
        async def settled() -> ExecutionState | None:
            await asyncio.sleep(ASK_S)
            found = await stores.flows.workflows.execution("default", self.names[kind])
            return found.state if found and found.status in (Status.COMPLETED, Status.FAILED) else None

        state = await until_true(settled, f"{self.names[kind]} is settled", 120)
        assert state is not None
        return state

    def check(self, states: dict[str, ExecutionState], deliveries: Deliveries) -> None:
        """What holds for every point, then what holds for this one alone."""
        for kind, state in states.items():
            name, keys = self.names[kind], deliveries[self.names[kind]]
            said = (name, state.status, state.error, len(keys))
            assert set(keys) <= {effect_key(name, "s0", 1)}, said
            if not kind.endswith("once"):
                assert state.status is Status.COMPLETED, said
                assert 1 <= len(keys) <= 2, said
            elif state.status is Status.COMPLETED:
                assert len(keys) == 1, said
            else:
                assert len(keys) <= 1, said
                assert state.error == LOST, said
        counts = [len(deliveries[self.names[kind]]) for kind in KINDS]
        match self.point:
            case "before_tick_commit":
                assert counts == [1, 1, 1, 1]
            case "after_tick_commit":  # its dispatcher may have claimed them all before it dies, but sends nothing
                assert counts in ([1, 1, 1, 1], [1, 0, 1, 0])
            case "after_effect_claim":
                assert counts == [1, 0, 1, 0]
            case _:
                assert sum(counts) >= 1


@pytest.mark.parametrize("kind_of_store", ["sqlite", "postgres"])
async def test_crash_at_every_point_is_never_silent_and_never_changes_a_key(
    kind_of_store: str,
    tmp_path: Path,
    journal: Journal,
    request: pytest.FixtureRequest,
    long_run: bool,
    figures: Figures,
) -> None:
    """All points at once; on PostgreSQL those that differ, and in the long version all of them, many times."""
    points = POINTS * 10 if long_run else SHORT[kind_of_store]
    async with PostOffice() as office:
        mail = {"smtp_url": f"smtp://127.0.0.1:{office.port}"}
        with Stage("sqlite:///nowhere", tmp_path).nursery(**SETTINGS, **mail) as nursery:
            crashes = [
                Crash(new_stage(kind_of_store, tmp_path, request, number), nursery, point, number)
                for number, point in enumerate(points)
            ]
            played: list[dict[str, ExecutionState]] = []
            for begin in range(0, len(crashes), AT_ONCE):
                played += await asyncio.gather(*(each.play(journal) for each in crashes[begin : begin + AT_ONCE]))

    deliveries = delivered(journal, office)
    unknown = sum(state.error == LOST for states in played for state in states.values())
    figures(crashes=len(crashes), deliveries=sum(map(len, deliveries.values())), unknown=unknown)
    for crash, states in zip(crashes, played, strict=True):
        crash.check(states, deliveries)
    assert unknown > 0


def delivered(journal: Journal, office: PostOffice) -> Deliveries:
    keys: Deliveries = defaultdict(list)
    for entry in journal.entries():
        keys[entry.path.removeprefix("/")].append(entry.webhook_id)
    for letter in office.letters:
        keys[str(letter["subject"])].append(str(letter["message-id"]).strip("<>").partition("@")[0])
    return keys


def new_stage(kind: str, folder: Path, request: pytest.FixtureRequest, number: int) -> Stage:
    own = folder / str(number)
    own.mkdir()
    if kind == "sqlite":
        return Stage(f"sqlite://{own}/mainspring.db", own)
    cluster = request.getfixturevalue("postgres_cluster")
    template = request.getfixturevalue("postgres_template")
    return Stage(str(cluster.create_database(f"crash_{number}", template=template)), own)
