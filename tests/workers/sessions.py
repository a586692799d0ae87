"""Sessions for tests: a model that follows a script, and an analyst that lets it look."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from mainspring.domain.model.session import ModelSession
from mainspring.domain.schedule.cron import CRON
from mainspring.outbound.language_model import PydanticAiModel
from mainspring.ports.stores import Stores
from mainspring.simulation.vault import NoVault
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.workers.analyst import Analyst, AnalystOptions
from mainspring.workers.throttle import Throttle

Step = tuple[str, dict[str, object]]
DONE: Step = ("submit_analysis", {"reasoning": "seen", "confidence": "high", "next_analysis_in_ms": 600_000})


class Scripted:
    """A model that makes these tool calls, one an answer, and keeps every prompt it was given."""

    def __init__(self, *steps: Step | str) -> None:
        self._steps = list(steps)
        self.prompts: list[str] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.prompts.append(f"{messages!r} {info.instructions}")
        step = self._steps.pop(0) if self._steps else "nothing more"
        return ModelResponse([TextPart(step) if isinstance(step, str) else ToolCallPart(*step)])


def analyst(stores: Stores, script: Callable[..., Any], worker: str = "a", **options: object) -> Analyst:
    model = PydanticAiModel("scripted", lambda _: FunctionModel(script))
    chosen = replace(AnalystOptions(worker, price_in=1.0, price_out=2.0), **options)
    restless = Throttle(lambda: 0.0, gap_s=0.0)
    return Analyst(stores, model, NoVault(), TimeOrderedIds(), CRON, chosen, pace=restless)


async def only_session(stores: Stores) -> ModelSession:
    (session,) = await stores.sessions.sessions("default")
    return session
