"""Draft rules from a description: a model writes them, the usual checks and a back-test judge them, a person accepts.

    1 refuse    endpoints without a description, or without tokens left this month
    2 converse  one prompt, one answer; refused rules may be corrected once
    3 replay    recorded runs with the current rules and the drafted ones
    4 record    the session, with its tokens and cost

Nothing is added here: `add_rules` does that after a person has read them.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from mainspring.domain.access.sealing import endpoint_secrets
from mainspring.domain.connection import connection_secrets
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, InvalidInput, MainspringError, QuotaExceeded
from mainspring.domain.event import Event, EventType
from mainspring.domain.model.draft_prompt import DRAFT_RULES_MAX, INSTRUCTIONS, SUBMIT, write_draft_prompt
from mainspring.domain.model.prompt import Redactor
from mainspring.domain.model.session import ModelSession, SessionDetail, ToolCall, cost_micros, next_analysis_at
from mainspring.domain.rules.backtest import BackTest
from mainspring.domain.rules.judge import FactsWanted
from mainspring.domain.rules.rule import Rule, rule_document
from mainspring.domain.text import clean_text
from mainspring.operations.backtest import BacktestRequest, run_backtest
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import tenant_of
from mainspring.operations.rules import RuleOwner, check_rules, rules_of
from mainspring.ports.planner import Budget, Conversation, LanguageModel

TRIES = 2
TEXT_MAX = 2_000


class Prices(Struct, frozen=True):
    """The budget of a draft, and dollars per million tokens."""

    tokens: int = 50_000
    seconds: float = 60.0
    price_in: float = 0.0
    price_out: float = 0.0


class RuleDraft(Struct, frozen=True):
    rules: tuple[Rule, ...]
    explanation: str
    session: ModelSession
    backtest: BackTest | None  # None: no runs recorded yet


Drafter = Callable[[Desk, RuleOwner], Awaitable[RuleDraft]]
"""`draft_rules` with the model that is configured."""


async def draft_rules(desk: Desk, model: LanguageModel, owner: RuleOwner, prices: Prices) -> RuleDraft:
    endpoint = owner.endpoint
    assert endpoint is not None, "rules are drafted for an endpoint"
    if not (endpoint.description or owner.job.description).strip():
        raise InvalidInput(
            f"endpoint {endpoint.name!r} has no description to draft from, nor has its job; describe when "
            "it should run differently",
            field="description",
        )
    await _refuse_over_quota(desk)
    known = await rules_of(desk, owner)
    taken = [each.stored.rule.name for each in known]
    spoken, rules, fault = await _converse(desk, model, owner, taken, prices)
    session = await _record(desk, endpoint, model, spoken, rules, fault, prices)
    if fault:
        raise Conflict(
            f"the model drafted no valid rules: {fault}; describe it differently, or write them yourself",
            kind="draft",
            name=endpoint.name,
        )
    documents = [rule_document(rule) for rule in (*(each.stored.rule for each in known), *rules)]
    tested = None
    with suppress(Conflict):  # no runs recorded yet
        tested = await run_backtest(desk, owner, BacktestRequest(rules=documents))
    explanation = clean_text(str((spoken[-1].final or {}).get("explanation") or ""), TEXT_MAX)
    return RuleDraft(tuple(rules), explanation, session, tested)


async def _converse(
    desk: Desk, model: LanguageModel, owner: RuleOwner, taken: Sequence[str], prices: Prices
) -> tuple[list[Conversation], list[Rule], str]:
    """All conversations, the rules of the last one, and why there are none."""
    endpoint = owner.endpoint
    assert endpoint is not None
    siblings = [member for member in owner.members if member.id != endpoint.id]
    wants = [FactsWanted(endpoint.id, 5), *(FactsWanted(each.id, 1) for each in siblings[:50])]
    facts = await desk.stores.planner.facts(wants)
    there = await desk.stores.connections.connections(desk.tenant_id)
    secrets = endpoint_secrets(owner.members, desk.vault.open) + connection_secrets(there, desk.vault.open)
    redactor = Redactor(secrets)
    spoken: list[Conversation] = []
    fault = ""
    for _ in range(TRIES):
        prompt = write_draft_prompt(endpoint, owner.job, siblings, facts.results, redactor, fault)
        budget = Budget(1, prices.tokens, prices.seconds)
        said = await model.converse(INSTRUCTIONS, prompt, (), SUBMIT, _no_tool, budget)
        spoken.append(said)
        if said.final is None:
            return spoken, [], clean_text(said.fault or "its answer was unusable", TEXT_MAX)
        try:
            return spoken, await _read(said.final, owner, taken), ""
        except MainspringError as refused:
            fault = str(refused)
    return spoken, [], fault


async def _read(final: dict[str, object], owner: RuleOwner, taken: Sequence[str]) -> list[Rule]:
    documents = final.get("rules")
    if not isinstance(documents, list) or not 1 <= len(documents) <= DRAFT_RULES_MAX:
        raise InvalidInput(f"rules must be a list of 1 to {DRAFT_RULES_MAX}", field="rules")
    return await check_rules(documents, owner, taken)


async def _no_tool(name: str, arguments: dict[str, object]) -> str:
    return "refused: no other tool exists"


async def _refuse_over_quota(desk: Desk) -> None:
    most = (await tenant_of(desk)).tokens_per_month
    used = await desk.stores.sessions.token_usage(desk.tenant_id)
    if most is not None and used.tokens >= most:
        raise QuotaExceeded(
            f"the tenant used {used.tokens:,} of its {most:,} tokens of {used.month}; wait, or ask for a higher quota",
            quota="tokens_per_month",
            limit=most,
        )


async def _record(
    desk: Desk,
    endpoint: Endpoint,
    model: LanguageModel,
    spoken: Sequence[Conversation],
    rules: Sequence[Rule],
    fault: str,
    prices: Prices,
) -> ModelSession:
    now = await desk.stores.schedule.now()
    tokens_in, tokens_out = sum(each.tokens_in for each in spoken), sum(each.tokens_out for each in spoken)
    asked = {"rules": ", ".join(rule.name for rule in rules)}
    detail = SessionDetail(
        (ToolCall(SUBMIT.name, dict(asked), "drafted, not added" if rules else "refused"),),
        reasoning=clean_text(str((spoken[-1].final or {}).get("explanation") or spoken[-1].text), TEXT_MAX),
        note=fault,
    )
    session = ModelSession(
        desk.ids.new("ses", now), desk.tenant_id, endpoint.id, now, "failed" if fault else "done", "shadow",
        model.name, tokens_in, tokens_out, cost_micros(tokens_in, tokens_out, prices.price_in, prices.price_out), 0,
        next_analysis_at(endpoint, now, None), endpoint.failure_count, detail,
    )  # fmt: skip
    data: dict[str, object] = {"session": session.id, "drafted": len(rules), "tokens": tokens_in + tokens_out}
    event = Event(EventType.PLANNER_ANALYSED, now, desk.tenant_id, endpoint.id, "", desk.actor, data)
    await desk.stores.sessions.record_session(session, "", event)
    return session
