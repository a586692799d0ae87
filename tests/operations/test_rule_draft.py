"""Rules drafted by a scripted model: checked, mended once, replayed, paid for, and never added by themselves."""

from collections.abc import Awaitable, Callable, Sequence

import pytest
from tests.harness.config import a_config
from tests.stores.world import FixedClock, an_outcome, run_slot

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import Conflict, InvalidInput, QuotaExceeded
from mainspring.domain.model.tools import ToolSpec
from mainspring.domain.run import Body, Header
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint
from mainspring.operations.rule_draft import Prices, draft_rules
from mainspring.operations.rules import add_rules, find_owner
from mainspring.ports.planner import Budget, Conversation

BUSY: dict[str, object] = {"name": "busy", "when": "body.depth > 10", "interval": "30s", "ttl": "5m"}
WRONG: dict[str, object] = {"name": "odd", "when": "siblings.nobody.ok", "interval": "30s"}


class Drafting:
    """A model that answers with these, one a conversation, and keeps what it was told."""

    name = "scripted"

    def __init__(self, *answers: Conversation) -> None:
        self._answers = list(answers)
        self.prompts: list[str] = []

    async def converse(
        self,
        instructions: str,
        prompt: str,
        tools: Sequence[ToolSpec],
        final: ToolSpec,
        call: Callable[[str, dict[str, object]], Awaitable[str]],
        budget: Budget,
    ) -> Conversation:
        self.prompts.append(prompt)
        assert await call("propose_interval", {}) == "refused: no other tool exists"
        return self._answers.pop(0)


def drafting(*rules: dict[str, object]) -> Conversation:
    return Conversation(100, 20, {"rules": list(rules), "explanation": "faster while it is deep"})


async def queue(desk: Desk, clock: FixedClock, description: str = "faster while the queue is deep") -> None:
    secret = Header("Authorization", "Bearer hunter2hunter2", secret=True)
    await add_endpoint(
        desk,
        a_config(
            "queue", "https://example.com/", interval_ms=60_000, spread=False, description=description,
            headers=(secret, Header("Accept", "application/json")),
        ),
    )  # fmt: skip
    for depth in (1, 50, 50, 1):
        text = f'{{"depth": {depth}, "echo": "hunter2hunter2"}}'.encode()
        await run_slot(desk.stores, clock, an_outcome(body=Body(text, "", False, len(text))), took_ms=0)
        clock.tick(seconds=60)


async def test_draft_is_checked_replayed_and_paid_for_and_adds_nothing(desk: Desk, clock: FixedClock) -> None:
    await queue(desk, clock)
    owner = await find_owner(desk, "queue", None)
    await add_rules(desk, owner, [{"name": "kept", "when": "!ok", "clear_hints": True}])
    model = Drafting(drafting(BUSY))

    draft = await draft_rules(desk, model, owner, Prices(price_in=1.0, price_out=2.0))

    assert [rule.name for rule in draft.rules] == ["busy"]
    assert draft.backtest is not None
    assert [each.rule for each in draft.backtest.only_changed] == ["busy"]
    assert [known.stored.rule.name for known in await desk.stores.planner.rules("default")] == ["kept"]
    (session,) = await desk.stores.sessions.sessions("default")
    assert (session.status, session.mode, session.cost_micros) == ("done", "shadow", 140)
    assert (await desk.stores.sessions.token_usage("default")).tokens == 120
    assert "faster while the queue is deep" in model.prompts[0]
    assert '"depth": 50' in model.prompts[0] or "depth" in model.prompts[0]
    assert "hunter2" not in model.prompts[0]


async def test_rules_that_do_not_hold_go_back_once(desk: Desk, clock: FixedClock) -> None:
    await queue(desk, clock)
    owner = await find_owner(desk, "queue", None)
    mended, stubborn = Drafting(drafting(WRONG), drafting(BUSY)), Drafting(drafting(WRONG), drafting())

    draft = await draft_rules(desk, mended, owner, Prices())
    with pytest.raises(Conflict, match="drafted no valid rules: rules must be a list"):
        await draft_rules(desk, stubborn, owner, Prices())

    assert [rule.name for rule in draft.rules] == ["busy"]
    assert "unknown sibling 'nobody'" in mended.prompts[1]
    assert [each.status for each in await desk.stores.sessions.sessions("default")] == ["failed", "done"]
    assert (await desk.stores.sessions.token_usage("default")).tokens == 480


async def test_siblings_are_told_with_what_they_answered(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, a_config("page", "https://example.com/", interval_ms=60_000, description="how slow"))
    await queue(desk, clock)
    model = Drafting(drafting(BUSY))

    await draft_rules(desk, model, await find_owner(desk, "queue", None), Prices())

    assert "Sibling 'page': <owner>how slow</owner>" in model.prompts[0]


async def test_model_that_fails_says_so(desk: Desk, clock: FixedClock) -> None:
    await queue(desk, clock)
    owner = await find_owner(desk, "queue", None)

    with pytest.raises(Conflict, match="no result within 60 s"):
        await draft_rules(desk, Drafting(Conversation(fault="no result within 60 s")), owner, Prices())


async def test_no_call_is_made_without_a_description_or_tokens(desk: Desk, clock: FixedClock) -> None:
    await queue(desk, clock, description="")
    model = Drafting()
    with pytest.raises(InvalidInput, match="has no description to draft from"):
        await draft_rules(desk, model, await find_owner(desk, "queue", None), Prices())

    await desk.stores.endpoints.put_tenant(Tenant("default", "default", tokens_per_month=0))
    await add_endpoint(desk, a_config("other", "https://example.com/", interval_ms=60_000, description="be quick"))
    with pytest.raises(QuotaExceeded, match="used 0 of its 0 tokens"):
        await draft_rules(desk, model, await find_owner(desk, "other", None), Prices())

    assert model.prompts == []
