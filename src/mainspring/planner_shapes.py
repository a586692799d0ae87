"""What the planner keeps, as JSON objects: rules, sessions, what was spent. The form that every door gives out."""

from typing import TYPE_CHECKING

from mainspring.shapes import Shape, instant

if TYPE_CHECKING:
    from mainspring.domain.rulebook import Tested
    from mainspring.domain.session import Session, TokenUsage
    from mainspring.planner_ports import KnownRule


def rule_shape(known: "KnownRule") -> Shape:
    """`rule` is what its owner wrote, and may be sent back; the rest is what became of it."""
    from mainspring.domain.firing import action_in_words
    from mainspring.domain.rules import rule_document

    stored = known.stored
    fired = max((state.fired_at for state in known.states.values() if state.fired_at), default=None)
    return {
        "id": stored.id,
        "endpoint": known.owner or None,
        "endpoint_id": stored.endpoint_id,
        "job_id": stored.job_id,
        "rule": rule_document(stored.rule),
        "does": action_in_words(stored.rule),
        "created_at": instant(stored.created_at),
        "fired_at": instant(fired),
        "fault": next((state.fault for state in known.states.values() if state.fault), None),
    }


def tested_shape(tested: "Tested") -> Shape:
    return {
        "run_id": tested.run_id,
        "at": instant(tested.at),
        "fired": list(tested.fired),
        "faults": list(tested.faults),
    }


def session_shape(session: "Session", endpoint: str) -> Shape:
    detail = session.detail
    return {
        "id": session.id,
        "endpoint": endpoint,
        "endpoint_id": session.endpoint_id,
        "at": instant(session.started_at),
        "status": session.status,
        "mode": session.mode,
        "model": session.model,
        "tokens_in": session.tokens_in,
        "tokens_out": session.tokens_out,
        "cost_usd": session.cost_micros / 1e6,
        "duration_ms": session.duration_ms,
        "next_analysis_at": instant(session.next_analysis_at),
        "failures": session.failure_count,
        "reasoning": detail.reasoning,
        "actions_taken": detail.actions_taken,
        "confidence": detail.confidence,
        "warnings": list(detail.warnings),
        "note": detail.note,
        "tool_calls": [
            {"tool": call.tool, "arguments": call.arguments, "result": call.result} for call in detail.tool_calls
        ],
    }


def usage_shape(usage: "TokenUsage", tokens_max: int | None) -> Shape:
    return {
        "month": usage.month,
        "sessions": usage.sessions,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "tokens": usage.tokens,
        "tokens_max": tokens_max,
        "cost_usd": usage.cost_micros / 1e6,
    }
