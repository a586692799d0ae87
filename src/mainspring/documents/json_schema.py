"""JSON Schema of values that the domain parses: durations, rules, steps, triggers. For editors.

The schema defines the structure; the domain decides whether a value is valid.
"""

from typing import Any

from mainspring.domain.rules.rule import FOR_RUNS_MAX
from mainspring.workflow.document import STEP_KEYS
from mainspring.workflow.steps import KINDS
from mainspring.workflow.triggers import KINDS as ALERT_KINDS
from mainspring.workflow.triggers import SOURCES, STATUSES, TRIGGERS_MAX

DURATION_SCHEMA: dict[str, Any] = {
    "oneOf": [
        {"type": "string", "pattern": r"^\s*([0-9.]+ *(d|h|m|s|ms) *)+$|^[0-9]+$"},
        {"type": "integer", "minimum": 0, "description": "milliseconds"},
    ],
    "examples": ["250ms", "30s", "5m", "1h30m", "1d"],
}


def _duration(description: str) -> dict[str, Any]:
    return {**DURATION_SCHEMA, "description": description}


RULE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["when"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "description": "Name of the rule; default: rule-1, rule-2, ..."},
        "when": {
            "type": "string",
            "description": "CEL over body, status_code, ok, duration_ms, failures, health, history, siblings, now.",
            "examples": ["body.depth > 100", "siblings.shop.body.visitors >= 5000"],
        },
        "for": {
            "type": "integer",
            "minimum": 1,
            "maximum": FOR_RUNS_MAX,
            "description": "Consecutive finished runs that must match.",
        },
        "interval": _duration("Run at this interval."),
        "ttl": _duration("How long, at most 24h."),
        "run": {"type": "string", "description": "Run once.", "examples": ["now", "in 30s"]},
        "pause": {
            "anyOf": [{"const": "forever"}, DURATION_SCHEMA],
            "description": "Pause for this long, or forever.",
        },
        "resume": {"type": "boolean", "description": "Resume: end a pause."},
        "clear_hints": {"type": "boolean", "description": "Return to its own schedule."},
        "target": {"type": "string", "description": "Act on this endpoint of the same job instead."},
        "cooldown": _duration("Minimum time between two firings."),
        "reason": {"type": "string", "description": "Shown with every effect of the rule."},
    },
}
STEP_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["id"],
    "properties": {key: {} for key in (*STEP_KEYS, *KINDS)}
    | {"id": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$"}},
    "oneOf": [{"required": [kind]} for kind in KINDS],
    "additionalProperties": False,
}


def _one_or_more(values: tuple[str, ...], description: str) -> dict[str, Any]:
    one = {"type": "string", "enum": list(values)}
    return {"oneOf": [one, {"type": "array", "items": one}], "description": description}


def _about(short: str, description: str, **keys: dict[str, Any]) -> dict[str, Any]:
    """A bare text is `short`; an empty value matches all."""
    in_full = {"type": "object", "additionalProperties": False, "properties": keys}
    return {"oneOf": [{"type": "string", "description": short}, {"type": "null"}, in_full], "description": description}


_ENDPOINT = {"type": "string", "description": "Only this endpoint; default: all."}
_CORRELATION = {
    "type": "string",
    "description": "Correlation key of the execution.",
    "examples": ["{{ event.endpoint }}"],
}
TRIGGER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "run": _about(
            "Name of the endpoint.",
            "A run of an endpoint ended.",
            endpoint=_ENDPOINT,
            status=_one_or_more(STATUSES, "Only runs with this status; default: any."),
        ),
        "rule": _about(
            "Name of the rule.",
            "A rule fired.",
            name={"type": "string", "description": "Only this rule; default: any."},
            endpoint=_ENDPOINT,
        ),
        "alert": _about(
            "Name of the alert.",
            "An alert was raised.",
            name={"type": "string", "description": "Only this alert; default: any."},
            endpoint=_ENDPOINT,
            kind=_one_or_more(ALERT_KINDS, "Only this kind; default: any."),
        ),
        "where": {
            "type": "string",
            "description": "CEL over event: only if this is true.",
            "examples": ["event.body.depth > 10"],
        },
        "input": {"type": "object", "description": "Input of the execution; texts may read event."},
        "correlation": _CORRELATION,
        "send": {
            "type": "object",
            "required": ["event", "to"],
            "additionalProperties": False,
            "description": "Send this event to running executions, instead of starting one.",
            "properties": {
                "event": {"type": "string", "description": "Type of the event."},
                "to": _CORRELATION,
                "data": {"type": "object", "description": "Data of the event; texts may read event."},
            },
        },
    },
    "oneOf": [{"required": [source]} for source in SOURCES],
    "not": {"required": ["send"], "anyOf": [{"required": ["input"]}, {"required": ["correlation"]}]},
}
TRIGGERS_SCHEMA: dict[str, Any] = {"type": "array", "maxItems": TRIGGERS_MAX, "items": TRIGGER_SCHEMA}
