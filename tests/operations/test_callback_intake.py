"""The intake of callbacks: tokens of this installation only, not too many at once, and not too often."""

import asyncio

import pytest

from mainspring.domain.access.callback_token import CALLBACK_PLACE
from mainspring.domain.errors import TooManyRequests
from mainspring.domain.schedule.callback import CallbackReport, ReportMeaning
from mainspring.operations.callbacks import WAITING_MAX, CallbackIntake
from mainspring.operations.pings import BURST, PER_MINUTE
from mainspring.outbound.vault import AesVault, KeyRing

DONE = CallbackReport(ReportMeaning.SUCCESS)
VAULT = AesVault(KeyRing(bytes(32)))


class Recorder:
    """Stores that keep which runs were reported, once they may."""

    def __init__(self) -> None:
        self.callbacks = self
        self.reported: list[tuple[str, str, str]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def receive(self, tenant_id: str, endpoint_id: str, run_id: str, report: CallbackReport) -> None:
        self.reported.append((tenant_id, endpoint_id, run_id))
        await self.may_answer.wait()


def intake(stores: Recorder, clock: list[float] | None = None) -> CallbackIntake:
    times = clock if clock is not None else [0.0]
    return CallbackIntake(stores, lambda: VAULT, lambda: times[0])  # type: ignore[arg-type]  # the part it uses


def token(run_id: str) -> str:
    return VAULT.seal(f"default|ep_1|{run_id}", CALLBACK_PLACE)


async def test_report_reaches_the_run_that_its_token_names() -> None:
    stores = Recorder()
    await intake(stores).take(token("run_7"), DONE)

    assert stores.reported == [("default", "ep_1", "run_7")]


async def test_token_of_another_installation_is_unknown() -> None:
    stores = Recorder()
    other = AesVault(KeyRing(b"x" * 32)).seal("default|ep_1|run_7", CALLBACK_PLACE)

    assert [await intake(stores).take(each, DONE) for each in (other, "", "ü", "v1.x.y")] == [None] * 4
    assert stores.reported == []


async def test_more_reports_at_once_than_fit_are_asked_to_come_again() -> None:
    stores = Recorder()
    stores.may_answer.clear()
    taken = intake(stores)
    waiting = [asyncio.ensure_future(taken.take(token(f"run_{number}"), DONE)) for number in range(WAITING_MAX)]
    await asyncio.sleep(0)

    with pytest.raises(TooManyRequests, match="too many callbacks are waiting"):
        await taken.take(token("one more"), DONE)
    stores.may_answer.set()
    await asyncio.gather(*waiting)
    await taken.take(token("later"), DONE)

    assert len(stores.reported) == WAITING_MAX + 1


async def test_url_may_be_used_again_after_a_pause() -> None:
    clock = [0.0]
    taken = intake(Recorder(), clock)
    url = token("run_7")
    for _ in range(BURST):
        await taken.take(url, DONE)
    with pytest.raises(TooManyRequests, match=f"more than {PER_MINUTE} pings a minute"):
        await taken.take(url, DONE)

    clock[0] += 60 / PER_MINUTE
    await taken.take(url, DONE)
