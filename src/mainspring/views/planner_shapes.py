"""What the planner keeps, as JSON objects: rules, sessions, what was spent. The form that every door gives out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mainspring.views.shapes import Shape, instant

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.domain.advice.proposal import StoredProposal
    from mainspring.domain.model.session import ModelSession, TokenUsage
    from mainspring.domain.rules.backtest import BackTest, Fired, PolicyReplay
    from mainspring.domain.rules.judge import Tested
    from mainspring.domain.rules.rule import Rule
    from mainspring.ports.planner import RuleRevision

BACKTEST_MAX = 1_000
BACKTEST_RUNS_MAX = 2_000


def rule_shape(known: "RuleRevision") -> Shape:
    """`rule` is what its owner wrote, and may be sent back; the rest is what became of it."""
    from mainspring.domain.rules.apply import action_in_words
    from mainspring.domain.rules.rule import rule_document

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
        "refused": next((state.refused for state in known.states.values() if state.refused), None),
    }


def tested_shape(tested: "Tested") -> Shape:
    return {
        "run_id": tested.run_id,
        "endpoint": tested.endpoint,
        "at": instant(tested.at),
        "fired": list(tested.fired),
        "faults": list(tested.faults),
    }


def session_shape(session: "ModelSession", endpoint: str) -> Shape:
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


def proposal_shape(proposal: "StoredProposal", endpoint: str, now: "datetime") -> Shape:
    """What advice would do, and what became of it. A pending one whose time is over is shown as expired."""
    kind = {"rule": "rule", "model": "model"}.get(proposal.author.partition(":")[0], "workflow")
    return {
        "id": proposal.id,
        "endpoint": endpoint,
        "endpoint_id": proposal.endpoint_id,
        "state": proposal.state_at(now).value,
        "kind": kind,
        "author": proposal.author,
        "action": proposal.action,
        "arguments": proposal.arguments,
        "does": proposal.does,
        "reason": proposal.reason,
        "cause": proposal.cause or None,
        "created_at": instant(proposal.created_at),
        "expires_at": instant(proposal.expires_at),
        "decided_at": instant(proposal.decided_at),
        "decided_by": proposal.decided_by or None,
        "note": proposal.note or None,
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


def backtest_shape(tested: "BackTest") -> Shape:
    """Calls by endpoint, when failures were seen, and the decisions that only one policy took. Lists are cut."""
    names = tested.names
    return {
        "begin": instant(tested.begin),
        "end": instant(tested.end),
        "limit": tested.limit,
        "is_limited": tested.is_limited,
        "is_cut": tested.present.is_cut or tested.changed.is_cut,
        "faults": list(tested.changed.faults),
        "calls": _calls(tested),
        "endpoints": [
            {"endpoint": name, "endpoint_id": endpoint_id, **_calls(tested, endpoint_id)}
            for endpoint_id, name in sorted(names.items(), key=lambda pair: pair[1])
        ],
        "totals": {
            "failures": len(tested.detections),
            "only_present": len(tested.only_present),
            "only_changed": len(tested.only_changed),
            "listed": BACKTEST_MAX,
        },
        "failures": [
            {
                "endpoint": names[each.endpoint_id],
                "failed_at": instant(each.failed_at),
                "recovered_at": instant(each.until),
                "seen_after_s": {"present": each.present_s, "changed": each.changed_s},
            }
            for each in tested.detections[:BACKTEST_MAX]
        ],
        "differs": {
            "only_present": [_fired(each, names[each.endpoint_id]) for each in tested.only_present[:BACKTEST_MAX]],
            "only_changed": [_fired(each, names[each.endpoint_id]) for each in tested.only_changed[:BACKTEST_MAX]],
        },
        "runs": {"present": _replayed(tested, tested.present), "changed": _replayed(tested, tested.changed)},
    }


def _calls(tested: "BackTest", endpoint_id: str | None = None) -> Shape:
    def count(replay: "PolicyReplay") -> int:
        return sum(endpoint_id in (None, run.endpoint_id) for run in replay.runs)

    recorded = sum(len(each) for name, each in tested.recorded.items() if endpoint_id in (None, name))
    present, changed = count(tested.present), count(tested.changed)
    return {"recorded": recorded, "present": present, "changed": changed, "saved": present - changed}


def _fired(fired: "Fired", endpoint: str) -> Shape:
    return {
        "at": instant(fired.at),
        "endpoint": endpoint,
        "rule": fired.rule,
        "does": fired.does,
        "run_id": fired.recorded_id or None,
    }


def _replayed(tested: "BackTest", replay: "PolicyReplay") -> list[Shape]:
    return [
        {"at": instant(run.at), "endpoint": tested.names[run.endpoint_id], "ok": run.ok, "source": run.source}
        for run in replay.runs[:BACKTEST_RUNS_MAX]
    ]


def draft_shape(
    rules: "Sequence[Rule]", explanation: str, session: "ModelSession", endpoint: str, tested: "BackTest | None"
) -> Shape:
    """`rules` may be sent back to be added; `backtest` is None where nothing was recorded yet."""
    from mainspring.domain.rules.rule import rule_document

    return {
        "rules": [rule_document(rule) for rule in rules],
        "explanation": explanation,
        "session": session_shape(session, endpoint),
        "backtest": None if tested is None else backtest_shape(tested),
    }
