"""JSON Schema of the parts that the domain reads itself: durations, rules, steps. Editors complete and check by it.

It says what may stand where; whether a value is good is the domain's to say.
"""

from typing import Any

from mainspring.domain.rules import FOR_RUNS_MAX
from mainspring.workflow.document import STEP_KEYS
from mainspring.workflow.steps import KINDS

DURATION_SCHEMA: dict[str, Any] = {
    "oneOf": [
        {"type": "string", "pattern": r"^\s*([0-9.]+ *(d|h|m|s|ms) *)+$|^[0-9]+$"},
        {"type": "integer", "minimum": 0, "description": "milliseconds"},
    ],
    "examples": ["250ms", "30s", "5m", "1h30m", "1d"],
}
TEXTS_SCHEMA: dict[str, Any] = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


def _duration(description: str) -> dict[str, Any]:
    return {**DURATION_SCHEMA, "description": description}


RULE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["when"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "description": "What to call it; rule-1, rule-2, ... by default."},
        "when": {
            "type": "string",
            "description": "CEL over body, status_code, ok, duration_ms, failures, health, history, siblings, now.",
            "examples": ["body.depth > 100", "siblings.shop.body.visitors >= 5000"],
        },
        "for": {
            "type": "integer",
            "minimum": 1,
            "maximum": FOR_RUNS_MAX,
            "description": "True on so many finished runs in a row.",
        },
        "interval": _duration("Run at this interval."),
        "ttl": _duration("How long, at most 24h."),
        "run": {"type": "string", "description": "Run once.", "examples": ["now", "in 30s"]},
        "pause": {
            "anyOf": [{"const": "forever"}, DURATION_SCHEMA],
            "description": "Pause for so long, or put to sleep.",
        },
        "resume": {"type": "boolean", "description": "Wake: end a pause."},
        "clear_hints": {"type": "boolean", "description": "Back to its own schedule."},
        "target": {"type": "string", "description": "Act on this endpoint of the same job instead."},
        "cooldown": _duration("At most once in this time."),
        "reason": {"type": "string", "description": "Shown wherever the effect is shown."},
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
