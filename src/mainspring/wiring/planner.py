"""A planner as a process of its own, and the language model that is configured."""

from collections.abc import Callable

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Misconfigured
from mainspring.domain.session import Session
from mainspring.operations.advising import HOW_TO_ADD_A_MODEL
from mainspring.operations.drafting import Draft, Drafter, Prices, draft_rules
from mainspring.operations.endpoints import Desk
from mainspring.operations.rules import Owner
from mainspring.ports.planner import LanguageModel, Look, Simulator
from mainspring.settings import Settings
from mainspring.wiring.clock import worker_name
from mainspring.wiring.desk import open_desk
from mainspring.workers.analyst import Analyst, AnalystOptions


async def run_planner(settings: Settings, on_ready: Callable[[], None]) -> None:
    """A planner alone, as a process of its own, until a signal comes."""
    from mainspring.observe import Metrics
    from mainspring.workers.planner import Planner
    from mainspring.workers.supervisor import supervise

    async with open_desk(settings, actor="planner") as desk:
        on_ready()
        await supervise([Planner(desk.stores.planner, Metrics(), worker_name()), *open_analysts(settings, desk)])


def configured_model(settings: Settings) -> LanguageModel:
    """Raises Misconfigured where none is configured, or it cannot be used as it is."""
    from mainspring.outbound.language_model import open_model

    return open_model(settings.model, settings.model_url, settings.model_key)


def open_analyst(settings: Settings, desk: Desk) -> Analyst:
    """Who lets the configured model look at endpoints."""
    options = AnalystOptions(
        worker_name(),
        settings.model_session_tokens,
        settings.model_session_timeout.total_seconds(),
        settings.model_sessions_per_hour,
        settings.model_price_in,
        settings.model_price_out,
    )
    return Analyst(desk.stores, configured_model(settings), desk.vault, desk.ids, desk.cron, options)


def open_analysts(settings: Settings, desk: Desk) -> list[Analyst]:
    """One where a model is configured, else none."""
    return [open_analyst(settings, desk)] if settings.model else []


def open_look(settings: Settings, desk: Desk) -> Look | None:
    """How a door lets the configured model look at an endpoint; None where there is no model."""
    if not settings.model:
        return None

    async def look(endpoint: Endpoint) -> Session | None:
        return await open_analyst(settings, desk).look(endpoint)

    return look


def open_simulator() -> Simulator:
    from mainspring.simulation.booth import Booth

    return Booth()


def refuse_without_model(settings: Settings) -> None:
    if not settings.model:
        raise Misconfigured(
            f"no model is configured; {HOW_TO_ADD_A_MODEL}; rules work without one", setting="MAINSPRING_MODEL"
        )


def drafting_prices(settings: Settings) -> Prices:
    return Prices(
        settings.model_session_tokens,
        settings.model_session_timeout.total_seconds(),
        settings.model_price_in,
        settings.model_price_out,
    )


def open_drafter(settings: Settings) -> Drafter | None:
    """How a door lets the configured model draft rules; None where there is no model."""
    if not settings.model:
        return None

    async def draft(desk: Desk, owner: Owner) -> Draft:
        return await draft_rules(desk, configured_model(settings), owner, drafting_prices(settings))

    return draft
