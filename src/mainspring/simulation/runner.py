"""Run scenarios in child processes, one at a time, for a server that has other work.

A simulation takes a whole processor and configures logging for itself, so it must not run in the server. A scenario
that does not finish in time is killed, and the caller gets an error.
"""

import asyncio
import os
import sys
from functools import cache

import msgspec

from mainspring.domain.errors import InvalidInput, NotFound, TooManyRequests
from mainspring.simulation.data import Json, scenario_data
from mainspring.simulation.scenario import Scenario, load_scenario, shipped

SECONDS_MAX = 30.0
WAITING_MAX = 5


class SimulationRunner:
    """A Simulator."""

    def __init__(self, seconds_max: float = SECONDS_MAX) -> None:
        self._seconds_max = seconds_max
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._playing: set[str] = set()  # tenants: one with long scenarios leaves places to others

    def scenarios(self) -> list[Json]:
        return [scenario_data(name, _read_once(name)) for name in shipped()]

    def scenario(self, name: str) -> Json:
        found = self._shipped(name)
        told: Json = msgspec.json.decode(msgspec.json.encode(found))
        return {**scenario_data(name, found), "document": told}

    async def play(self, tenant_id: str, wanted: Json) -> Json:
        if isinstance(name := wanted.get("scenario"), str):
            self._shipped(name)  # a name is only a name: files of the server must not be readable
        if tenant_id in self._playing:
            raise TooManyRequests("a simulation of this tenant is running; wait until it has ended", retry_after_s=5)
        if self._waiting >= WAITING_MAX:
            raise TooManyRequests("five simulations are already waiting; try again in a moment", retry_after_s=10)
        self._waiting += 1
        self._playing.add(tenant_id)
        try:
            async with self._turn:
                answer = await self._played(wanted)
        finally:
            self._waiting -= 1
            self._playing.discard(tenant_id)
        if "fault" in answer:
            raise InvalidInput(str(answer["fault"]), field=_sent_as(answer["field"], wanted))
        played = answer["played"]
        assert isinstance(played, dict)
        return played

    def _shipped(self, name: str) -> Scenario:
        if name not in shipped():
            raise NotFound("scenario", name, tuple(shipped()))
        return _read_once(name)

    async def _played(self, wanted: Json) -> Json:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MAINSPRING_")}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "mainspring.simulation",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=environment,
        )  # fmt: skip
        try:
            async with asyncio.timeout(self._seconds_max):
                out, complaint = await process.communicate(msgspec.json.encode(wanted))
        except TimeoutError:
            fault = f"the scenario took longer than {self._seconds_max:g} s; make it shorter or smaller"
            return {"fault": fault, "field": "scenario"}
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            last = (complaint.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
            return {"fault": f"the scenario could not be run: {last[:300]}", "field": "scenario"}
        return msgspec.json.decode(out, type=dict[str, object])


@cache
def _read_once(name: str) -> Scenario:
    """Built-in scenarios are part of the program: parsing all of them takes 0.15 s."""
    return load_scenario(name)


def _sent_as(field: object, wanted: Json) -> str:
    return "document" if wanted.get("document") is not None else str(field)
