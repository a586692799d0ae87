"""Rules and their results, real and tested, as all interfaces show them."""

from typing import Literal, Self

from pydantic import Field, JsonValue

from mainspring.domain.rules.apply import action_in_words
from mainspring.domain.rules.judge import Tested
from mainspring.domain.rules.rule import rule_document
from mainspring.operations.rule_draft import RuleDraft
from mainspring.ports.planner import RuleRevision
from mainspring.views.backtest import Backtest
from mainspring.views.planner import PlannerSession
from mainspring.views.view import At, View

EXAMPLE: dict[str, JsonValue] = {
    "name": "busy",
    "when": "body.depth > 200",
    "for": 2,
    "interval": "30s",
    "ttl": "10m",
    "reason": "the queue is long",
}
DOCUMENT = (
    "As in a configuration file: `when` (CEL) and what to do: `interval` with `ttl`, `run`, `pause`, `resume`, "
    "`clear_hints`; further `name`, `for`, `target`, `cooldown`, `reason`."
)


class RuleView(View):
    id: str
    endpoint: str | None = Field(description="Endpoint that the rule belongs to; null for a rule of a job.")
    endpoint_id: str | None
    job_id: str
    rule: dict[str, JsonValue] = Field(description=DOCUMENT, examples=[EXAMPLE])
    does: str = Field(description="The action in words.", examples=["every 30s for 10m"])
    created_at: At
    fired_at: At | None = Field(description="When the rule last fired.")
    fault: str | None = Field(description="Why the last evaluation failed.")
    refused: str | None = Field(description="Why its newest action was refused: a person decided otherwise.")

    @classmethod
    def of(cls, known: RuleRevision) -> Self:
        """`rule` is the rule as written and can be sent back. The other fields are its results."""
        stored, states = known.stored, known.states.values()
        return cls.from_value(
            stored,
            endpoint=known.owner or None,
            rule=rule_document(stored.rule),
            does=action_in_words(stored.rule),
            fired_at=max((state.fired_at for state in states if state.fired_at), default=None),
            fault=next((state.fault for state in states if state.fault), None),
            refused=next((state.refused for state in states if state.refused), None),
        )


class RulesChecked(View):
    ok: Literal[True] = True
    rules: list[dict[str, JsonValue]] = Field(description="The rules as they would be stored.")


class RunTested(View):
    run_id: str
    endpoint: str = Field(description="Endpoint of the run: rules read runs of the whole job.")
    at: At
    fired: list[str] = Field(description="Names of the rules that would have fired.")
    faults: list[str]

    @classmethod
    def of(cls, tested: Tested) -> Self:
        return cls.from_value(tested)


class RulesTested(View):
    runs: list[RunTested] = Field(description="Oldest first.")
    fired: dict[str, int] = Field(description="How often each rule would have fired.")
    endpoints: list[str] = Field(description="Endpoints whose runs were counted, by name.")


class RulesDrafted(View):
    rules: list[dict[str, JsonValue]] = Field(
        description="Checked rules that are not added yet. Create those that you accept."
    )
    explanation: str
    session: PlannerSession
    backtest: Backtest | None = Field(
        description="Result with these rules added to the current ones; null: no recorded runs."
    )

    @classmethod
    def of(cls, draft: RuleDraft, endpoint: str) -> Self:
        return cls.from_value(
            draft,
            rules=[rule_document(rule) for rule in draft.rules],
            session=PlannerSession.of(draft.session, endpoint),
            backtest=None if draft.backtest is None else Backtest.of(draft.backtest),
        )
