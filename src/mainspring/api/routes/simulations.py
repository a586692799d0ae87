"""Simulations: scenarios played on a simulated clock by the real scheduler, planner and governor."""

from typing import Annotated

from fastapi import APIRouter, Path, Request

from mainspring.api.access import Reading, Running
from mainspring.api.context import Context
from mainspring.api.playing import Played, ScenarioInFull, Scenarios, SimulationWish
from mainspring.domain.errors import InvalidInput, Misconfigured
from mainspring.planner_ports import Simulator
from mainspring.shapes import Shape

router = APIRouter(prefix="/simulations", tags=["simulations"])
ScenarioRef = Annotated[str, Path(alias="scenario", max_length=100, examples=["flash-sale"])]


@router.get("", response_model=Scenarios)
async def list_simulations(desk: Reading, request: Request) -> Shape:
    """The scenarios that come with Mainspring."""
    return {"items": _simulator(request).scenarios()}


@router.get("/{scenario}", response_model=ScenarioInFull)
async def read_simulation(desk: Reading, scenario: ScenarioRef, request: Request) -> Shape:
    """A scenario in full: its curve, its endpoints with their rules, its checks."""
    return _simulator(request).scenario(scenario)


@router.post("", response_model=Played)
async def run_simulation(desk: Running, wish: SimulationWish, request: Request) -> Shape:
    """Play a scenario, ours by name or one of your own, and tell what happened. Nothing is called, nothing is kept.

    The same scenario and seed give the same answer. One simulation is played at a time, for at most 30 seconds.
    """
    if (wish.scenario is None) == (wish.document is None):
        raise InvalidInput("give the name of a scenario, or a document, and not both", field="scenario")
    return await _simulator(request).play(wish.model_dump())


def _simulator(request: Request) -> Simulator:
    context: Context = request.app.state.context
    if context.simulator is None:
        raise Misconfigured("this server plays no simulations; run `mainspring simulate` beside it", setting="")
    return context.simulator
