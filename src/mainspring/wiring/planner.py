"""Run a planner as a separate process, and open the configured language model."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Misconfigured
from mainspring.domain.model.session import ModelSession
from mainspring.operations.context import Desk
from mainspring.operations.planner import HOW_TO_ADD_A_MODEL
from mainspring.operations.rule_draft import Drafter, Prices, RuleDraft, draft_rules
from mainspring.operations.rules import RuleOwner
from mainspring.ports.planner import LanguageModel, Look, Simulator
from mainspring.settings import Settings
from mainspring.wiring.desk import open_desk
from mainspring.workers.analyst import Analyst, AnalystOptions

log = structlog.get_logger()

MODEL_CHILD = (sys.executable, "-m", "mainspring.wiring.model_child")


async def run_planner(settings: Settings, on_ready: Callable[[], None]) -> None:
    """Runs a planner alone, as a separate process, until a signal arrives."""
    from mainspring.observe import Metrics
    from mainspring.workers.database_watch import DatabaseWatch
    from mainspring.workers.planner import Planner
    from mainspring.workers.presence import present
    from mainspring.workers.supervisor import supervise

    async with open_desk(settings, actor="planner") as desk, open_models(settings) as models:
        on_ready()
        analysts = [open_analyst(settings, desk, model) for model in models]
        async with present(desk.stores.presence, desk.worker, {"planner": 0}):
            planner = Planner(desk.stores.planner, Metrics(), desk.worker)
            await supervise([planner, *analysts, DatabaseWatch(desk.stores.upkeep)])


@asynccontextmanager
async def open_models(settings: Settings) -> AsyncIterator[list[LanguageModel]]:
    """The configured model, in a child process; None if none is configured or it cannot be used.

    A missing key or library turns the model off, with a warning; everything else works.
    """
    if fault := model_fault(settings):
        log.warning("model unavailable", why=fault)
    if fault or not settings.model:
        yield []
        return
    from mainspring.outbound.model_process import Handshake, ModelProcess

    told = Handshake(settings.model, settings.model_url, settings.model_key, settings.log_format, settings.log_level)
    model_process = ModelProcess(settings.model, MODEL_CHILD, told)
    try:
        yield [model_process]
    finally:
        await model_process.aclose()


def model_fault(settings: Settings) -> str:
    """Why the configured model cannot be used; "" if it can, or if none is configured."""
    try:
        if settings.model:
            check_settings(settings)
    except Misconfigured as fault:
        return str(fault)
    return ""


def check_settings(settings: Settings) -> None:
    """Raises Misconfigured if the configured model cannot be used."""
    from mainspring.outbound.language_model import check_model

    check_model(settings.model, settings.model_url, settings.model_key)


@asynccontextmanager
async def open_model(settings: Settings) -> AsyncIterator[LanguageModel]:
    """The configured model for callers that need one. Raises Misconfigured if none is configured."""
    if not settings.model:
        raise Misconfigured(
            f"no model is configured; {HOW_TO_ADD_A_MODEL}; rules work without one", setting="MAINSPRING_MODEL"
        )
    check_settings(settings)
    async with open_models(settings) as (model,):
        yield model


def open_analyst(settings: Settings, desk: Desk, model: LanguageModel) -> Analyst:
    """The analyst that runs model sessions."""
    options = AnalystOptions(
        desk.worker,
        settings.model_session_tokens,
        settings.model_session_timeout.total_seconds(),
        settings.model_sessions_per_hour,
        settings.model_price_in,
        settings.model_price_out,
    )
    return Analyst(desk.stores, model, desk.vault, desk.ids, desk.cron, options)


def open_look(settings: Settings, desk: Desk, model: LanguageModel) -> Look:
    """How an interface starts a model session about an endpoint."""

    async def look(endpoint: Endpoint) -> ModelSession | None:
        return await open_analyst(settings, desk, model).look(endpoint)

    return look


def open_drafter(settings: Settings, model: LanguageModel) -> Drafter:
    """How an interface has rules drafted by the model."""
    prices = Prices(
        settings.model_session_tokens,
        settings.model_session_timeout.total_seconds(),
        settings.model_price_in,
        settings.model_price_out,
    )

    async def draft(desk: Desk, owner: RuleOwner) -> RuleDraft:
        return await draft_rules(desk, model, owner, prices)

    return draft


def open_simulator() -> Simulator:
    from mainspring.simulation.runner import SimulationRunner

    return SimulationRunner()
