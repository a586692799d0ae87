"""Scenarios: a simulated world described in YAML. Read and checked here, run in `world`.

minutes: 40
curve:                          what the targets measure, by minute
  - {from: 0, visitors: 1000}
endpoints:
  traffic: {every: 1m, says: [visitors], rules: [{when: body.visitors > 5000, interval: 20s}]}
checks:
  - {check: runs_within, endpoint: traffic, minute: 5, seconds: 60}
"""

from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import msgspec
from msgspec import Struct, field

from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput, NotFound

MINUTES_MAX = 60 * 24 * 31
ENDPOINTS_MAX = 5_000
STARTS_AT = datetime(2025, 11, 28, 10, tzinfo=UTC)


class Span(Struct, forbid_unknown_fields=True, frozen=True):
    """Minutes in which calls fail: with a status code, or, at 0, without a response."""

    begin: float = field(name="from")
    to: float
    status: int = 500


class ScenarioTarget(Struct, forbid_unknown_fields=True, frozen=True):
    """One endpoint and the behaviour of its target."""

    every: str | None = None
    cron: str | None = None
    tz: str = "UTC"
    min: str | None = None
    max: str | None = None
    timeout: str = "30s"
    backoff: str = "default"
    misfire: str = "run_once"
    asleep: bool = False
    spread: bool = True
    description: str = ""
    group: str = ""  # a heading in the report
    copies: int = 1
    says: tuple[str, ...] = ()  # metrics of the curve, as the fields of its response
    answer: dict[str, object] = {}  # further fields
    takes: str = "100ms"  # a duration, or a metric of the curve in milliseconds
    fails: tuple[Span, ...] = ()
    rules: tuple[dict[str, object], ...] = ()


class Jump(Struct, forbid_unknown_fields=True, frozen=True):
    """The database clock jumps forward."""

    at: float
    by: str


class Restarts(Struct, forbid_unknown_fields=True, frozen=True):
    """Workers are killed without warning, and restarted after a while."""

    every: str
    lasting: str = "2s"
    worker: str = "scheduler"  # scheduler or planner
    begin: float = field(name="from", default=0)
    to: float | None = None


class Hostile(Struct, forbid_unknown_fields=True, frozen=True):
    """Writes random hints and pauses at this interval."""

    every: str = "1s"


class Scenario(Struct, forbid_unknown_fields=True, frozen=True):
    name: str
    minutes: float
    endpoints: dict[str, ScenarioTarget]
    description: str = ""
    starts_at: datetime = STARTS_AT
    curve: tuple[dict[str, object], ...] = ()
    noise: float = 0.0  # of durations; metrics are exact, because thresholds are
    fault_rate: float = 0.0  # of calls that fail, drawn from the seed
    jumps: tuple[Jump, ...] = ()
    restarts: Restarts | None = None
    hostile: Hostile | None = None
    per_host: int = 1_000
    places: int = 1_000
    rules: tuple[dict[str, object], ...] = ()  # of the whole job
    checks: tuple[dict[str, object], ...] = ()

    @property
    def start(self) -> datetime:
        return self.starts_at.replace(tzinfo=UTC) if self.starts_at.tzinfo is None else self.starts_at.astimezone(UTC)

    def phase_at(self, minute: float) -> dict[str, object]:
        """The last entry of the curve that has started."""
        current: dict[str, object] = {}
        for entry in self.curve:
            if _number(entry.get("from", 0)) <= minute:
                current = entry
        return current

    def names_of(self, endpoint: str) -> list[str]:
        """The endpoints that an entry represents."""
        copies = self.endpoints[endpoint].copies
        return [endpoint] if copies == 1 else [f"{endpoint}-{number}" for number in range(1, copies + 1)]


def shipped() -> list[str]:
    folder = files("mainspring.simulation").joinpath("scenarios")
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def load_scenario(name_or_path: str) -> Scenario:
    """A built-in scenario by name, or a file."""
    if name_or_path in shipped():
        text = files("mainspring.simulation").joinpath("scenarios", f"{name_or_path}.yaml").read_text()
        return read_scenario(text, name_or_path)
    path = Path(name_or_path)
    if not path.exists():
        raise NotFound("scenario", name_or_path, tuple(shipped()))
    return read_scenario(path.read_text(encoding="utf-8"), path.name)


def read_scenario(text: str, where: str) -> Scenario:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        scenario = msgspec.convert(YAML(typ="safe", pure=True).load(text), Scenario, strict=True)
    except YAMLError as fault:
        problem = " ".join(str(fault).split())
        raise InvalidInput(f"{where} is not YAML: {problem[:300]}; correct it", field="scenario") from None
    except msgspec.ValidationError as fault:
        raise InvalidInput(
            f"{where} is not a scenario: {fault}; docs/simulation.md lists the keys", field="scenario"
        ) from None
    _check(scenario, where)
    return scenario


@lru_cache(maxsize=1024)
def milliseconds(text: str, field_name: str) -> int:
    return parse_duration_ms(text, field=field_name)


def _check(scenario: Scenario, where: str) -> None:
    if not 0 < scenario.minutes <= MINUTES_MAX:
        raise _refused(where, f"minutes is {scenario.minutes}; give more than 0 and at most {MINUTES_MAX} (31 days)")
    if not 1 <= sum(target.copies for target in scenario.endpoints.values()) <= ENDPOINTS_MAX:
        raise _refused(where, f"give at least one endpoint, and at most {ENDPOINTS_MAX} with their copies")
    if not 0 <= scenario.fault_rate <= 1 or not 0 <= scenario.noise <= 1:
        raise _refused(where, "fault_rate and noise must be between 0 and 1")
    if scenario.restarts is not None and scenario.restarts.worker not in ("scheduler", "planner"):
        raise _refused(where, f"restarts.worker is {scenario.restarts.worker!r}; give scheduler or planner")
    metrics = {key for entry in scenario.curve for key in entry}
    for name, target in scenario.endpoints.items():
        for metric in target.says:
            if metric not in metrics:
                raise _refused(where, f"endpoint {name!r} says {metric!r}, which is not a metric of the curve")
        if target.takes not in metrics:
            milliseconds(target.takes, f"{name}.takes")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _refused(where: str, what: str) -> InvalidInput:
    return InvalidInput(f"{where} is not a scenario: {what}", field="scenario")
