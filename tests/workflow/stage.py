"""Workflows, events and answers to play with: written ones, and any number that a seed generates."""

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from mainspring.workflow.document import parse_document, parse_text
from mainspring.workflow.model import OLDEST_FORMAT, Arrival, ArrivalKind, ExecutionState, LogicalClock, Workflow
from mainspring.workflow.replay import ReplayFrame, SimulatedAnswer, SimulatedEvent, Simulation, simulate, turn

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
SALT = "5a17" * 8
DOCUMENTS = Path(__file__).parent / "documents"
ENDINGS = ("success", "success", "failure", "unknown")
CONDITIONS = (
    "vars.n > 3",
    "input.x < 50",
    '"ping" in events',
    "has(events.ping) && events.ping.count > 1",
    "input.list.exists(each, each > 7)",
    "input.map.map(key, key)[0] == 'a'",  # in the order of a hash table it would be another key in another process
    "tick % 2 == 0",
    "steps.s0.result == null",  # fails where that step has no result
)


def order_follow_up() -> Workflow:
    return parse_text((DOCUMENTS / "order_follow_up.yaml").read_text())


def a_workflow(*steps: dict[str, Any], **top: Any) -> Workflow:
    """A workflow of these steps; those without an id are called s0, s1, ..."""
    named = [{"id": f"s{index}", **step} for index, step in enumerate(steps)]
    return parse_document({"name": "a workflow", "steps": named, **top})


class Player:
    """One execution that a test drives by hand, turn by turn."""

    def __init__(
        self,
        workflow: Workflow,
        given: dict[str, object] | None = None,
        execution_id: str = "x1",
        format_: int = OLDEST_FORMAT,
    ) -> None:
        self.workflow = workflow
        self.state = ExecutionState(
            execution_id, SALT, workflow.name, workflow.version, given or {}, wake_tick=0, format=format_
        )
        self.frames: list[ReplayFrame] = []
        self._ids = 0

    def at(self, tick: int, *arrivals: Arrival) -> ReplayFrame:
        frame = turn(self.workflow, self.state, arrivals, LogicalClock(tick, EPOCH))
        self.state = frame.after
        self.frames.append(frame)
        return frame

    def event(self, type_: str, **data: object) -> Arrival:
        self._ids += 1
        return Arrival(ArrivalKind.EVENT, f"e{self._ids}", type_, data, "ada")

    def order(self, verb: str, reason: str = "because") -> Arrival:
        self._ids += 1
        return Arrival(ArrivalKind.COMMAND, f"c{self._ids}", verb, {"reason": reason}, "ada")

    def answer(self, type_: str = "success", **data: object) -> Arrival:
        """What the dispatcher would say to the effect that is awaited."""
        state = self.state
        given = {"key": state.key, "attempt": state.attempt, **data}
        return Arrival(ArrivalKind.RESULT, f"{state.key}:{state.attempt}", type_, given, "dispatcher")

    @property
    def log(self) -> list[str]:
        return [f"{entry.step}:{entry.action}" for frame in self.frames for entry in frame.entries]

    @property
    def entries(self) -> list[Any]:
        return [entry for frame in self.frames for entry in frame.entries]


def generated(seed: int) -> tuple[Workflow, dict[str, object], list[SimulatedEvent], dict[str, list[SimulatedAnswer]]]:
    """A workflow that a seed makes, with something to happen to it: loops, failures and late events included."""
    random = Random(seed)
    size = random.randint(2, 9)
    ids = [f"s{index}" for index in range(size)]
    steps: list[dict[str, Any]] = []
    for index in range(size):
        kind = random.choice(("set", "branch", "wait", "wait_for", "call", "email", "set", "branch", "cron"))
        later = random.choice([*ids[index + 1 :], "end"])
        steps.append(_generated_step(random, ids, index, kind, later))
    exits = [{"when": '"stop" in events', "outcome": "stopped"}] if random.random() < 0.4 else []
    workflow = parse_document({"name": f"generated {seed}", "exit": exits, "steps": _reachable(steps, ids)})
    given: dict[str, object] = {
        "x": random.randint(0, 99), "list": [random.randint(0, 9) for _ in range(4)], "half": 0.5,
        "map": {letter: random.randint(0, 9) for letter in random.sample("abcdefgh", 5)},
    }  # fmt: skip
    types = ("ping", "pong", "stop", "noise")
    happenings = [
        SimulatedEvent(
            random.randint(0, 900_000), random.choice(types), {"n": random.randint(0, 9), "f": random.random()}
        )
        for _ in range(random.randint(0, 6))
    ]
    answers = {
        step_id: [SimulatedAnswer(random.choice(ENDINGS), {"v": random.randint(0, 9)}, "500") for _ in range(2)]
        for step_id in ids
        if random.random() < 0.6
    }
    return workflow, given, happenings, answers


def run_generated(seed: int, format_: int = OLDEST_FORMAT) -> Simulation:
    workflow, given, happenings, answers = generated(seed)
    return simulate(
        workflow, given, happenings, answers, epoch=EPOCH, execution_id=f"x{seed}", turns_max=200, format_=format_
    )


def trace_hash(seeds: range) -> str:
    """One hash over everything that these executions did."""
    heads = [run_generated(seed).state.head for seed in seeds]
    return sha256("\n".join(heads).encode()).hexdigest()


def _generated_step(random: Random, ids: list[str], index: int, kind: str, later: str) -> dict[str, Any]:
    step: dict[str, Any] = {"id": ids[index], "visits": random.choice((3, 5))}
    if random.random() < 0.3:
        step["on_failure"] = {"goto": later}
    match kind:
        case "set":
            step["set"] = {"n": "has(vars.n) ? vars.n + 1 : 1", "share": "double(vars.n) / 3.0"}
        case "branch":
            goto = random.choice(ids)
            step["branch"] = {"cases": [{"when": random.choice(CONDITIONS[1:]), "goto": goto}], "default": later}
        case "wait":
            step["wait"] = f"{random.randint(1, 300)}s"
        case "cron":
            step["wait"] = {"cron": "*/5 * * * *", "timezone": random.choice(("Europe/Berlin", "America/New_York"))}
        case "wait_for":
            step["wait_for"] = {"event": random.choice(("ping", "pong")), "timeout": "2m", "where": "event.data.n >= 3"}
            if random.random() < 0.5:
                step["wait_for"]["on_timeout"] = later
        case "email":
            step["email"] = {"to": "{{ input.x }}@example.com", "subject": "s", "body": "{{ input.map }} {{ tick }}"}
        case _:
            step["call"] = {"url": "https://example.com/{{ input.x }}", "body": {"half": "{{ input.half }}"}}
            step["retry"] = {"attempts": random.randint(1, 3), "delay": "7s"}
    return step


def _reachable(steps: list[dict[str, Any]], ids: list[str]) -> list[dict[str, Any]]:
    """A first step that leads everywhere, so that no generated step is unreachable."""
    cases = [{"when": f"input.x % {len(ids)} == {index}", "goto": step_id} for index, step_id in enumerate(ids)]
    count = {"id": "count", "set": {"n": "0"}}
    return [count, {"id": "fan", "branch": {"cases": cases, "default": ids[0]}}, *steps]
