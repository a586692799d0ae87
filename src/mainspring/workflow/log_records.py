"""Convert arrivals and effects to log records and back."""

from mainspring.workflow.model import Arrival, Call, Email, Hint


def given_of(arrival: Arrival) -> dict[str, object]:
    return {
        "kind": arrival.kind.value,
        "id": arrival.id,
        "type": arrival.type,
        "data": arrival.data,
        "actor": arrival.actor,
        "occurred_at": arrival.occurred_at,
    }


def request_of(step: Call | Email | Hint) -> tuple[str, dict[str, object]]:
    """The kind of an effect, and its request before templates are filled in."""
    if isinstance(step, Email):
        return "email", {
            "channel": step.channel, "to": step.to, "subject": step.subject, "body": step.body, "from": step.sender,
        }  # fmt: skip
    if isinstance(step, Hint):
        return "hint", {
            "endpoint": step.endpoint, "interval_ms": step.interval_ms, "after_ms": step.after_ms, "clear": step.clear,
            "ttl_ms": step.ttl_ms, "reason": step.reason,
        }  # fmt: skip
    if step.endpoint:
        return "endpoint", {"endpoint": step.endpoint}
    return "call", {
        "url": step.url, "method": step.method, "headers": step.headers, "body": step.body,
        "accept_codes": list(step.accept_codes),
    }  # fmt: skip
