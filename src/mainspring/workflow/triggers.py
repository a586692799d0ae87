"""Triggers: occurrences that start executions or send them events, parsed from a document and matched. Pure.

    on:
      - run: {endpoint: billing, status: [failure, timeout]}
        where: event.body.depth > 10
        input: {depth: "{{ event.body.depth }}"}
      - alert: {kind: recovered}
        send: {event: recovered, to: "{{ event.endpoint }}"}

A trigger can read only `event`: what happened. A trigger without `send` starts an execution of the newest version.
"""

from collections.abc import Mapping
from typing import Final, cast

from msgspec import Struct

from mainspring.domain.errors import did_you_mean
from mainspring.domain.notify.subscription import AlertKind
from mainspring.domain.run import RunStatus
from mainspring.workflow.audit import canonical
from mainspring.workflow.expression import Failure, Names, Values, judge
from mainspring.workflow.model import Parameter, WorkflowTrigger
from mainspring.workflow.reader import Reader
from mainspring.workflow.template import render, render_text
from mainspring.workflow.yaml_lines import Path

SOURCES: Final = ("run", "rule", "alert")
TRIGGERS_MAX: Final = 50
STATUSES: Final = tuple(
    status.value for status in (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.BLOCKED)
)
# A stopped workflow triggers none: that one could stop as well, and so on without end.
KINDS: Final = tuple(kind.value for kind in AlertKind if kind is not AlertKind.STOPPED)


class Occurrence(Struct, frozen=True):
    """Something that happened. `id` is the same each time it is processed."""

    source: str
    id: str
    endpoint: str  # name of the endpoint; "": not about an endpoint
    name: str  # name of the rule or the alert
    kind: str  # status of a run, kind of an alert
    event: dict[str, object] = {}  # the value of `event` in expressions


class TriggerMatch(Struct, frozen=True):
    """The action of a trigger. `event` "": start an execution."""

    data: dict[str, object]
    correlation: str
    event: str = ""


def may_match(trigger: WorkflowTrigger, occasion: Occurrence) -> bool:
    """Whether the trigger may match, judged without its condition, so that data for expressions is read only if
    needed.
    """
    return (
        trigger.source == occasion.source
        and trigger.endpoint in ("", occasion.endpoint)
        and trigger.name in ("", occasion.name)
        and (occasion.kind in trigger.kinds if trigger.kinds else occasion.kind != AlertKind.STOPPED)
    )


def answer(trigger: WorkflowTrigger, occasion: Occurrence) -> TriggerMatch | Failure | None:
    """The action of the trigger, None if its condition is false, a Failure if it cannot be evaluated."""
    data = Values({"event": occasion.event}, frozenset(), in_pieces=True)
    size = len(canonical(occasion.event)) + 256
    if trigger.where:
        holds = judge(trigger.where, data, size)
        if isinstance(holds, Failure):
            return Failure(f"where {holds.text}")
        if not holds:
            return None
    given = render(trigger.input, data, size)
    if isinstance(given, Failure):
        return Failure(f"{'send.data' if trigger.event else 'input'} {given.text}")
    correlation = render_text(trigger.correlation, data, size)
    if isinstance(correlation, Failure):
        return Failure(f"{'send.to' if trigger.event else 'correlation'} {correlation.text}")
    return TriggerMatch(cast("dict[str, object]", given), correlation, trigger.event)


def read_triggers(reader: Reader, value: object, parameters: Mapping[str, Parameter]) -> tuple[WorkflowTrigger, ...]:
    if not isinstance(value, list) or len(value) > TRIGGERS_MAX:
        reader.fault(("on",), f"is not a list of up to {TRIGGERS_MAX}; write `- run: {{endpoint: name}}` for each")
        return ()
    before, reader.names = reader.names, Names((), (), (), ("event",))  # nothing has happened yet
    read = [_trigger(reader, each, ("on", index), parameters) for index, each in enumerate(value)]
    reader.names = before
    return tuple(each for each in read if each is not None)


def _trigger(reader: Reader, value: object, path: Path, parameters: Mapping[str, Parameter]) -> WorkflowTrigger | None:
    given = reader.mapping(value, path, (*SOURCES, "where", "input", "correlation", "send"), "a trigger")
    if given is None:
        return None
    sources = [source for source in SOURCES if source in given]
    if len(sources) != 1:
        reader.fault(path, f"is about {len(sources)} things; a trigger is about one of {', '.join(SOURCES)}: keep one")
        return None
    endpoint, name, kinds = _about(reader, sources[0], given[sources[0]], (*path, sources[0]))
    where = reader.expression(given["where"], (*path, "where"), is_condition=True) if "where" in given else ""
    if "send" in given:
        event, data, to = _send(reader, given, path)
        return WorkflowTrigger(sources[0], endpoint, name, kinds, where, data, to, event)
    data = _data(reader, given.get("input", {}), (*path, "input"))
    _fits(reader, data, (*path, "input"), parameters)
    correlation = reader.template(given.get("correlation", ""), (*path, "correlation"))
    return WorkflowTrigger(sources[0], endpoint, name, kinds, where, data, correlation)


def _about(reader: Reader, source: str, value: object, path: Path) -> tuple[str, str, tuple[str, ...]]:
    """Endpoint, name and kinds of a trigger; a bare text is the endpoint, the rule or the alert."""
    if isinstance(value, str):
        value = {"endpoint" if source == "run" else "name": value}
    keys = {"run": ("endpoint", "status"), "rule": ("name", "endpoint"), "alert": ("name", "endpoint", "kind")}[source]
    given = reader.mapping(value if value is not None else {}, path, keys, source) or {}
    endpoint = reader.text(given.get("endpoint", ""), (*path, "endpoint"))
    name = reader.text(given.get("name", ""), (*path, "name"))
    key, allowed = ("status", STATUSES) if source == "run" else ("kind", KINDS)
    wanted = given.get(key, [])
    many = wanted if isinstance(wanted, list) else [wanted]
    return endpoint, name, tuple(reader.one_of(each, (*path, key), allowed) for each in many)


def _send(reader: Reader, given: Mapping[str, object], path: Path) -> tuple[str, dict[str, object], str]:
    for key in ("input", "correlation"):
        if key in given:
            reader.fault(
                (*path, key), "is for starting; a trigger that sends uses send.to and send.data: move it there"
            )
    place = (*path, "send")
    send = reader.mapping(given["send"], place, ("event", "to", "data"), "send") or {}
    to = reader.template(send.get("to"), (*place, "to"), required=True)
    data = _data(reader, send.get("data", {}), (*place, "data"))
    return reader.event_type(send.get("event"), (*place, "event")), data, to


def _data(reader: Reader, value: object, path: Path) -> dict[str, object]:
    data = reader.mapping(value, path, None, "this")
    reader.holes(data, path)
    return dict(data or {})


def _fits(reader: Reader, data: Mapping[str, object], path: Path, parameters: Mapping[str, Parameter]) -> None:
    """Whether an execution could start with these names."""
    known = tuple(parameters)
    for name in data:
        if parameters and name not in parameters:
            reader.fault(
                (*path, name), f"is not an input{did_you_mean(name, known) or ';'} inputs are {', '.join(known)}"
            )
    for name, parameter in parameters.items():
        if parameter.required and name not in data:
            reader.fault(path, f"lacks {name!r} ({parameter.type}), which is required; add it")
