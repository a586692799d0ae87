"""Read workflow documents: YAML or JSON in, a checked Workflow out, or every error with its path, line and fix.

    name: order-follow-up
    input: {email: text, order: integer}
    exit: [{when: '"order.cancelled" in events', outcome: cancelled}]
    steps:
      - {id: thank, email: {to: "{{ input.email }}", subject: Thanks, body: "Order {{ input.order }}"}}
      - {id: rest, wait: 3d}

A step has an id, exactly one kind, and may have `next`, `visits`, `on_failure`; effects also have `retry`, `timeout`
and `idempotency`. Without `next` the following step comes next; after the last one the execution is completed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.name import check_name, shown
from mainspring.workflow.expression import WITHIN, Names
from mainspring.workflow.graph import graph_faults
from mainspring.workflow.model import STEPS_MAX, VISITS_DEFAULT, AnyStep, Exit, Parameter, Workflow
from mainspring.workflow.reader import Reader
from mainspring.workflow.steps import KINDS, read_kind
from mainspring.workflow.triggers import read_triggers
from mainspring.workflow.yaml_lines import Path, WorkflowFault, path_text, read_yaml

PARAMETER_TYPES: Final = ("text", "integer", "number", "boolean", "list", "map", "any")
TOP_KEYS: Final = ("name", "description", "input", "templates", "exit", "reentry", "on", "steps")
STEP_KEYS: Final = ("id", "next", "visits", "on_failure", "retry", "timeout", "idempotency")
REENTRY: Final = ("allow", "refuse")
FAULTS_SHOWN: Final = 20


class InvalidWorkflow(InvalidInput):
    """A document with at least one error; `faults` lists all of them."""

    def __init__(self, faults: Sequence[WorkflowFault]) -> None:
        shown_faults = [str(fault) for fault in faults[:FAULTS_SHOWN]]
        more = f"; and {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
        count = f"{len(faults)} faults: " if len(faults) > 1 else ""
        super().__init__(count + "; ".join(shown_faults) + more, field=faults[0].path or "document")
        self.faults = tuple(faults)


def parse_text(text: str, allow_ports: frozenset[int] = frozenset(), *, is_stored: bool = False) -> Workflow:
    """Reads the workflow of a YAML or JSON text; errors carry their line.

    A document that `is_stored` may contain what is refused today: a secret, a slash in its name.
    """
    document, lines = read_yaml(text)
    return _checked(document, Reader(lines, allow_ports, is_stored=is_stored))


def parse_document(document: object) -> Workflow:
    """Reads a workflow from a parsed document."""
    return _checked(document, Reader({}))


def check_input(workflow: Workflow, given: Mapping[str, object]) -> dict[str, object]:
    """The input of an execution with defaults filled in. Raises InvalidInput with the field."""
    if not workflow.parameters:
        return dict(given)
    for name in given:
        if name not in workflow.parameters:
            known = tuple(workflow.parameters)
            raise InvalidInput(
                f"unknown input {name!r}{did_you_mean(name, known) or ';'} {workflow.name!r} takes {', '.join(known)}",
                field=f"input.{name}",
            )
    values: dict[str, object] = {}
    for name, parameter in workflow.parameters.items():
        if name not in given:
            if parameter.required:
                raise InvalidInput(
                    f"the input {name!r} ({parameter.type}) is missing; {workflow.name!r} cannot start without it",
                    field=f"input.{name}",
                )
            values[name] = parameter.default
        elif not _is_of_type(given[name], parameter.type):
            raise InvalidInput(
                f"the input {name!r} is '{shown(given[name])}'; {workflow.name!r} needs {parameter.type}: change it",
                field=f"input.{name}",
            )
        else:
            values[name] = given[name]
    return values


def _checked(document: object, reader: Reader) -> Workflow:
    top = reader.mapping(document, (), TOP_KEYS, "a workflow")
    if top is None:
        raise InvalidWorkflow(reader.faults)
    name = reader.ask(("name",), lambda: check_name(top.get("name", ""), field="name", kind="workflow")) or ""
    if "/" in name and not reader.is_stored:
        reader.fault(("name",), "contains /, but workflows are addressed by name in a URL path: choose another")
    description = reader.text(top.get("description", ""), ("description",))
    parameters = _parameters(reader, top.get("input", {}))
    templates = reader.texts(top.get("templates", {}), ("templates",))
    reentry = reader.one_of(top.get("reentry", "allow"), ("reentry",), REENTRY)
    raw = _raw_steps(reader, top.get("steps"))
    ids = tuple(str(each.get("id")) for each in raw if isinstance(each.get("id"), str))
    types = () if reader.is_stored else tuple((name, each.type) for name, each in parameters.items())
    names = Names(ids, _variables(raw), tuple(parameters) if parameters else None, WITHIN, types)
    triggers = read_triggers(reader, top.get("on", []), parameters)
    reader.names, reader.templates, reader.secrets = names, templates, _secrets(raw)
    reader.holes(templates, ("templates",))
    steps = _steps(reader, raw, ids)
    exits = _exits(reader, top.get("exit", []))
    if not reader.faults:
        places = {step_id: path_text(("steps", index)) for index, step_id in enumerate(ids)}
        reader.faults.extend(graph_faults(steps, ids[0], bool(exits), places, reader.lines))
    if reader.faults:
        raise InvalidWorkflow(reader.faults)
    return Workflow(name, ids[0], steps, 0, description, exits, parameters, reentry, triggers)


def _raw_steps(reader: Reader, value: object) -> list[Mapping[str, object]]:
    if not isinstance(value, list) or not value:
        reader.fault(("steps",), "is missing or empty; a workflow has a list of at least one step: write one")
        return []
    if len(value) > STEPS_MAX:
        reader.fault(("steps",), f"has {len(value)} steps; at most {STEPS_MAX} are allowed; split the workflow")
        return []
    raw = []
    seen: dict[str, int] = {}
    for index, each in enumerate(value):
        path: Path = ("steps", index)
        step = reader.mapping(each, path, STEP_KEYS + KINDS, "a step")
        if step is None:
            continue
        raw.append(step)
        step_id = reader.identifier(step.get("id"), (*path, "id"), "a step")
        if step_id in seen:
            reader.fault(
                (*path, "id"), f"{step_id!r} is the id of steps[{seen[step_id]}] too; ids are unique: rename one"
            )
        elif step_id:
            seen[step_id] = index
    return raw if len(raw) == len(value) else []


def _variables(raw: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    names = [name for step in raw if isinstance(values := step.get("set"), dict) for name in values]
    return tuple(dict.fromkeys(map(str, names)))


def _secrets(raw: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """The secrets that calls obtain, as `step.name`."""
    found = []
    for step in raw:
        call = step.get("call")
        names = call.get("secrets") if isinstance(call, dict) else None
        found += [f"{step.get('id')}.{name}" for name in names] if isinstance(names, dict) else []
    return tuple(found)


def _steps(reader: Reader, raw: Sequence[Mapping[str, object]], ids: tuple[str, ...]) -> dict[str, AnyStep]:
    steps: dict[str, AnyStep] = {}
    for index, step in enumerate(raw):
        path: Path = ("steps", index)
        kinds = [kind for kind in KINDS if kind in step]
        if len(kinds) != 1:
            what = "has no kind" if not kinds else f"has {len(kinds)} kinds ({', '.join(kinds)})"
            reader.fault(path, f"{what}; a step is exactly one of {', '.join(KINDS)}: keep one")
            continue
        following = ids[index + 1] if index + 1 < len(ids) else ""
        shared: dict[str, object] = {
            "id": str(step.get("id")),
            "next": reader.goto(step["next"], (*path, "next"), ids) if "next" in step else following,
            "visits_max": reader.count(step.get("visits", VISITS_DEFAULT), (*path, "visits"), 1, 10_000),
            "on_failure": _on_failure(reader, step.get("on_failure", "stop"), (*path, "on_failure"), ids),
        }
        made = read_kind(reader, kinds[0], step, path, ids, shared)
        if made is not None:
            steps[made.id] = made
    return steps


def _on_failure(reader: Reader, value: object, path: Path, ids: tuple[str, ...]) -> str:
    """`stop`, or `goto: step`."""
    if value == "stop":
        return ""
    given = reader.mapping(value, path, ("goto",), "on_failure", rule="write `stop` or {goto: step}")
    return reader.goto(given.get("goto"), (*path, "goto"), ids) if given is not None else ""


def _exits(reader: Reader, value: object) -> tuple[Exit, ...]:
    if not isinstance(value, list):
        reader.fault(("exit",), "is not a list; write `- {when: condition, outcome: word}` for each exit")
        return ()
    exits = []
    for index, each in enumerate(value):
        path: Path = ("exit", index)
        given = reader.mapping(each, path, ("when", "outcome"), "an exit")
        if given is not None:
            when = reader.expression(given.get("when"), (*path, "when"), is_condition=True)
            exits.append(
                Exit(when, reader.identifier(given.get("outcome", "exited"), (*path, "outcome"), "an outcome"))
            )
    return tuple(exits)


def _parameters(reader: Reader, value: object) -> dict[str, Parameter]:
    given = reader.mapping(value, ("input",), None, "input")
    parameters: dict[str, Parameter] = {}
    for name, wanted in (given or {}).items():
        path: Path = ("input", name)
        reader.identifier(name, path, "an input")
        if isinstance(wanted, str):
            parameters[name] = Parameter(reader.one_of(wanted, path, PARAMETER_TYPES))
            continue
        fields = reader.mapping(wanted, path, ("type", "default"), "an input", rule="write a type, or {type, default}")
        if fields is not None:
            kind = reader.one_of(fields.get("type", "any"), (*path, "type"), PARAMETER_TYPES)
            parameters[name] = Parameter(kind, "default" not in fields, fields.get("default"))
            if "default" in fields and not _is_of_type(fields["default"], kind):
                reader.fault((*path, "default"), f"'{shown(fields['default'])}' is not {kind}; change one of them")
    return parameters


_TYPES: Final[dict[str, Callable[[object], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list),
    "map": lambda value: isinstance(value, dict),
    "any": lambda value: True,
}


def _is_of_type(value: object, kind: str) -> bool:
    return _TYPES.get(kind, _TYPES["any"])(value)
