"""Compute the response of a scenario's target at a minute: simulated in `world`, and over real HTTP in `shop`. Pure."""

from random import Random

from msgspec import Struct

from mainspring.simulation.scenario import Scenario, ScenarioTarget, milliseconds


class TargetResponse(Struct, frozen=True):
    status: int  # 0: no response
    takes_ms: float
    said: dict[str, object]


def answer_at(scenario: Scenario, target: ScenarioTarget, minute: float, chance: Random) -> TargetResponse:
    phase = scenario.phase_at(minute)
    takes_ms = _takes_ms(target, phase) * (1 + scenario.noise * chance.uniform(-1, 1))
    failing = next((span for span in target.fails if span.begin <= minute < span.to), None)
    status = failing.status if failing is not None else 500 if chance.random() < scenario.fault_rate else 200
    if status >= 300:
        return TargetResponse(status, takes_ms, {"error": status})
    return TargetResponse(status, takes_ms, {metric: phase.get(metric) for metric in target.says} | target.answer)


def _takes_ms(target: ScenarioTarget, phase: dict[str, object]) -> float:
    value = phase.get(target.takes)
    return float(value) if isinstance(value, int | float) else milliseconds(target.takes, "takes")
