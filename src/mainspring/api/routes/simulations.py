"""Simulations: scenarios run on a simulated clock by the real scheduler, planner and governor."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Request

from mainspring.api.access import Reading, Running
from mainspring.api.context import Context
from mainspring.api.models.requests import BacktestInput, SimulationRequest
from mainspring.domain.errors import InvalidInput, Misconfigured
from mainspring.operations import backtest, rules
from mainspring.ports.planner import Simulator
from mainspring.views.backtest import Backtest
from mainspring.views.simulation import Played, ScenarioDetailView, ScenarioView
from mainspring.views.view import ListOf

router = APIRouter(tags=["simulations"])
ScenarioRef = Annotated[str, Path(alias="scenario", max_length=100, examples=["flash-sale"])]


@router.get("/simulations")
async def list_simulations(desk: Reading, request: Request) -> ListOf[ScenarioView]:
    """The built-in scenarios."""
    return ListOf(items=ScenarioView.read_all(await asyncio.to_thread(_simulator(request).scenarios)))


@router.get("/simulations/{scenario}")
async def read_simulation(desk: Reading, scenario: ScenarioRef, request: Request) -> ScenarioDetailView:
    """A scenario with its curve, its endpoints with their rules, and its checks."""
    return ScenarioDetailView.model_validate(await asyncio.to_thread(_simulator(request).scenario, scenario))


@router.post("/simulations")
async def run_simulation(desk: Running, wish: SimulationRequest, request: Request) -> Played:
    """Run a scenario, built-in by name or your own, and return the report. Nothing is called, nothing is stored.

    The same scenario and seed give the same report. One simulation runs at a time, for at most 30 seconds.
    """
    if (wish.scenario is None) == (wish.document is None):
        raise InvalidInput("give either the name of a scenario or a document", field="scenario")
    return Played.model_validate(await _simulator(request).play(desk.tenant_id, wish.model_dump()))


@router.post("/backtests")
async def run_backtest(desk: Reading, wish: BacktestInput) -> Backtest:
    """Replay recorded runs with changed rules, limits or another baseline: calls, failures seen, decisions.

    Between two recorded runs the last response holds. Nothing is called, nothing is stored.
    """
    if (wish.endpoint is None) == (wish.job is None):
        raise InvalidInput("neither or both of endpoint and job were given; give one of them", field="endpoint")
    owner = await rules.find_owner(desk, wish.endpoint, wish.job)
    wanted = backtest.BacktestRequest(**wish.model_dump(exclude={"endpoint", "job"}))
    return Backtest.of(await backtest.run_backtest(desk, owner, wanted))


def _simulator(request: Request) -> Simulator:
    context: Context = request.app.state.context
    if context.simulator is None:
        raise Misconfigured("this server runs no simulations; run `mainspring simulate` instead", setting="")
    return context.simulator
