"""S4: the secret key is changed while everything runs: no run fails, and nothing is left under the old key."""

import asyncio
import sys
from collections import Counter
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from mainspring.domain.access.sealing import header_place
from mainspring.domain.endpoint import Endpoint, with_values
from mainspring.domain.run import Header, HttpAction, RunStatus
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import edit_endpoint
from mainspring.operations.secret_rotation import count_sealed
from mainspring.operations.signing_keys import add_signing_key
from mainspring.outbound.key_file import KeyFile
from mainspring.outbound.signing import generate_secret
from mainspring.outbound.vault import AesVault, KeyRing, key_id
from tests.actions import http_of
from tests.faults.conftest import Figures
from tests.faults.random_kills import start_workers
from tests.faults.stage import Stage, calling, fill
from tests.harness.processes import clean_environment
from tests.harness.waiting import until
from tests.stores.databases import query

NAME = "X-Key"
EDITS = 40
LATER_RUNS = 200


class Doorkeeper:
    """A target that answers 200 to whoever brings the secret of the path, and 403 to everyone else."""

    def __init__(self) -> None:
        self.allowed: dict[str, set[str]] = {}
        self.let_in = 0
        self.turned_away: list[str] = []

    async def __aenter__(self) -> "Doorkeeper":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1_000)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
                path = lines[0].split(" ")[1]
                is_known = headers.get(NAME.lower(), "") in self.allowed[path] and "webhook-signature" in headers
                self.let_in += is_known
                if not is_known:
                    self.turned_away.append(path)
                answer = b"HTTP/1.1 200 OK" if is_known else b"HTTP/1.1 403 Forbidden"
                writer.write(answer + b"\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Scene:
    """Endpoints with a secret each, all calling the doorkeeper, and a signing key."""

    def __init__(self, stage: Stage, door: Doorkeeper, count: int, interval_ms: int) -> None:
        self.stage, self.door, self.count, self.interval_ms = stage, door, count, interval_ms
        self.file = KeyFile(stage.folder / "secret.key")

    async def prepare(self, desk: Desk) -> None:
        await add_signing_key(desk, generate_secret())
        later = await desk.stores.schedule.now() + timedelta(hours=1)
        await fill(desk.stores, [self._endpoint(desk, number, later) for number in range(self.count)])
        too_late_us = (later - await desk.stores.schedule.now()) // timedelta(microseconds=1) - 1_000_000
        span = str(too_late_us) if self.stage.is_sqlite else f"interval '{too_late_us} microseconds'"
        await query(
            self.stage.url, f"UPDATE schedule SET next_run_at = next_run_at - {span}, anchor_at = anchor_at - {span}"
        )

    def _endpoint(self, desk: Desk, number: int, begin_at: datetime) -> Endpoint:
        path, secret = f"/{number}", f"secret {number}"
        self.door.allowed[path] = {secret}
        due_at = begin_at + timedelta(milliseconds=self.interval_ms * number / self.count)
        made = calling(f"http://127.0.0.1:{self.door.port}{path}", due_at, self.interval_ms, 10_000)
        sealed = Header(NAME, desk.vault.seal(secret, header_place("default", made.id, NAME)), secret=True)
        action = HttpAction(http_of(made).url, headers=(sealed,), timeout_ms=made.action.timeout_ms)
        return replace(made, name=f"e{number}", action=action)

    async def rotate(self, failpoints: str = "") -> tuple[int, str]:
        """`mainspring secret-key rotate` as a process of its own: its exit code and what it said."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "mainspring", "secret-key", "rotate", "--settle", "1s",
            env=clean_environment() | self.stage.env(failpoints),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, said.decode()

    async def edit(self, desk: Desk, number: int) -> None:
        """Give an endpoint another secret; until it is stored the old one may be brought, too."""
        secret = f"edited {number}"
        self.door.allowed[f"/{number}"].add(secret)
        header = Header(NAME, secret, secret=True)
        await edit_endpoint(desk, f"e{number}", lambda old: with_values(old, {"headers": (header,)}))

    async def statuses(self) -> Counter[str]:
        rows = await query(self.stage.url, "SELECT status, COUNT(*) FROM run GROUP BY status")
        return Counter({str(status): int(str(count)) for status, count in rows})


@pytest.fixture
def size(long_run: bool) -> tuple[int, int]:
    """How many endpoints, and how often each of them runs."""
    return (10_000, 30_000) if long_run else (300, 1_000)


async def test_ten_thousand_values_get_another_key_and_no_run_fails(
    stage: Stage, size: tuple[int, int], figures: Figures
) -> None:
    async with Doorkeeper() as door, stage.desk() as desk:
        scene = Scene(stage, door, *size)
        await scene.prepare(desk)
        (old,) = scene.file.read()
        with stage.nursery() as nursery:
            workers = await start_workers(nursery, 1 if stage.is_sqlite else 2)
            await until(lambda: door.let_in > 50, "it runs")
            before = door.let_in
            rotating = asyncio.create_task(scene.rotate())
            for number in range(EDITS):
                await scene.edit(desk, number)
            code, said = await rotating
            during = door.let_in - before
            assert code == 0, said
            await until(lambda: door.let_in > before + during + LATER_RUNS, "it goes on")
            for worker in workers:
                worker.terminate()
            await until(lambda: not nursery.running, "they end")
            (fresh,) = await start_workers(nursery, 1)
            after = door.let_in
            await until(lambda: door.let_in > after + LATER_RUNS, "a worker with the new key alone goes on")
            fresh.terminate()
            await until(lambda: not nursery.running, "it ends")
        (new,) = scene.file.read()
        counted, statuses = await count_sealed(desk.stores), await scene.statuses()
        edited = [await stored_secret(desk, number, new) for number in range(EDITS)]

    figures(values=counted.total(), runs_during=during, runs=statuses["success"])
    assert new != old
    assert during > 0
    assert counted == Counter({key_id(new): scene.count + 1})
    assert door.turned_away == []
    # Between two workers, a busy machine may leave slots out; none of those was a run.
    assert set(statuses) - {RunStatus.MISSED} == {RunStatus.SUCCESS}
    assert edited == [f"edited {number}" for number in range(EDITS)]


async def test_worker_that_cannot_learn_the_new_key_fails_its_runs(sqlite_stage: Stage) -> None:
    """The control: the same with a worker whose key comes from its environment, where nobody put the new one."""
    async with Doorkeeper() as door, sqlite_stage.desk() as desk:
        scene = Scene(sqlite_stage, door, 20, 500)
        await scene.prepare(desk)
        text = scene.file.path.read_text().strip()
        with sqlite_stage.nursery(secret_key=text) as nursery:
            await start_workers(nursery, 1)
            await until(lambda: door.let_in > 20, "it runs")
            code, said = await scene.rotate()
            assert code == 0, said
            for _ in range(100):
                if (await scene.statuses())["blocked"]:
                    break
                count = door.let_in
                await until(lambda seen=count: door.let_in > seen, "time passes")  # type: ignore[misc]  # bound now
            else:
                raise AssertionError("no run was blocked")


@pytest.mark.parametrize("place", ["after_key_file", "after_reseal", "after_put_installation"])
async def test_change_that_was_killed_is_finished_by_the_next(stage: Stage, place: str) -> None:
    async with Doorkeeper() as door, stage.desk() as desk:
        scene = Scene(stage, door, 250, 3_600_000)
        await scene.prepare(desk)
        (old,) = scene.file.read()

        killed, _ = await scene.rotate(f"{place}=kill")
        begun = scene.file.read()
        halfway = await count_sealed(desk.stores)
        async with stage.desk():
            pass  # whoever starts now has both keys
        code, said = await scene.rotate()

        new, was_old = begun
        assert (killed, was_old) == (-9, old)
        if place == "after_reseal":
            assert min(halfway[key_id(new)], halfway[key_id(old)]) > 0
        assert (code, scene.file.read()) == (0, (new,)), said
        assert f"continuing the unfinished rotation to key {key_id(new)}" in said
        assert await count_sealed(desk.stores) == Counter({key_id(new): scene.count + 1})


async def stored_secret(desk: Desk, number: int, key: bytes) -> str:
    """What an endpoint's header opens to with this key alone."""
    endpoint = await desk.stores.endpoints.endpoint("default", f"e{number}")
    assert endpoint is not None
    (header,) = http_of(endpoint).headers
    return AesVault(KeyRing(key)).open(header.value, header_place("default", endpoint.id, NAME))
