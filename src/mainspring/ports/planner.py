"""The planner's seams: rules and the runs they judge, a model's sessions, and the model itself."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from mainspring.domain.advice.proposal import StoredProposal
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event
from mainspring.domain.model.session import ModelSession, TokenUsage, ToolCall
from mainspring.domain.model.tools import ToolSpec
from mainspring.domain.rules.apply import RuleState
from mainspring.domain.rules.judge import (
    Decisions,
    FactsWanted,
    Health,
    HealthWanted,
    JudgedPage,
    RuleFacts,
    RuleResult,
    StoredRule,
)
from mainspring.domain.rules.run_window import RunWindow


class RuleRevision(Struct, frozen=True):
    """A rule, the endpoint it belongs to ("" for the whole job), and what it remembers, by endpoint."""

    stored: StoredRule
    owner: str
    states: dict[str, RuleState]


class PlannerStore(Protocol):
    """Rules, and the finished runs they have not judged yet. Each finished run is judged once, by whomever."""

    async def next_page(self, limit: int) -> JudgedPage | None:
        """Finished runs of up to `limit` transactions after the cursor, some hundreds of them at the most.

        None where there is no rule or no new run.

        A page without runs only moves the cursor on.
        """

    async def facts(self, wants: Sequence[FactsWanted]) -> RuleFacts:
        """The newest results, newest first, and the present health of endpoints; test runs do not count.

        Results are those up to the run or instant that each want names.
        """

    async def health(self, wanted: HealthWanted) -> Health:
        """An endpoint's health at an instant, by the runs that finished until then; test runs do not count."""

    async def window(self, wanted: RunWindow) -> tuple[RuleResult, ...]:
        """The runs of a window, newest first, within its bounds (`run_window.fitting`); bodies only if they are wanted.

        By an index of the endpoint's runs, whatever else is recorded; test runs do not count.
        """

    async def commit_page(self, page: JudgedPage, decisions: Decisions) -> bool:
        """Move the cursor past the page, apply the firings to locked rows, write what rules remember: all or nothing.

        False: another planner moved the cursor first, and nothing was written.
        """

    async def wait_for_runs(self, timeout_s: float) -> None:
        """Return soon after something was recorded, or after `timeout_s`. It may also return for nothing."""

    async def add_rules(self, rules: Sequence[StoredRule], event: Event) -> None:
        """Raises Conflict where the owner has a rule of that name. They judge runs that finish from now on."""

    async def put_rule(self, stored: StoredRule, event: Event) -> bool:
        """Write an edited rule: it counts runs afresh, and its cooldown goes on. False: it is not there any more.

        Raises Conflict where its owner has another rule of that name.
        """

    async def remove_rules(self, tenant_id: str, ids: Sequence[str], event: Event) -> int:
        """How many were there."""

    async def rules(self, tenant_id: str, job_id: str | None = None) -> list[RuleRevision]:
        """In the order in which they were written."""

    async def modes(self) -> dict[str, str]:
        """Where the planner is not live: `all`, `tenant:ID` or `endpoint:ID`."""

    async def set_mode(self, scope: str, mode: str, event: Event) -> None:
        """In shadow mode and off, pending proposals of the scope are withdrawn in the same transaction."""


class ProposalFilter(Struct, frozen=True):
    """A page of proposals, newest first; `before` is when the last one seen was created, and its id."""

    endpoint_id: str | None = None
    state: str | None = None
    before: tuple[datetime, str] | None = None
    limit: int = 50


class ProposalStore(Protocol):
    """What advice proposed in mode `ask`. Proposals are written with the change of their endpoint: `Change.proposals`.

    Of two decisions about one proposal, the second raises Conflict and writes nothing.
    """

    async def proposals(self, tenant_id: str, wanted: ProposalFilter) -> list[StoredProposal]: ...

    async def proposal(self, tenant_id: str, proposal_id: str) -> StoredProposal | None: ...

    async def count_pending(self, tenant_id: str, endpoint_id: str | None = None) -> int:
        """How many wait for a person: of the tenant, or of one endpoint."""


class SessionStore(Protocol):
    """A model's sessions: who may be looked at now, what was found, what was spent; and what rules only rehearsed."""

    async def claim_analyses(
        self, worker: str, lease_ms: int, lookback_ms: int, limit: int, per_hour: int, endpoint_id: str | None = None
    ) -> list[str]:
        """Lease endpoints that are due for analysis to `worker`; no endpoint is ever leased to two at once.

        Due is who ran within the look-back or has been looked at before, and: was never looked at, or its next analysis
        has come, or fails more often in a row than then, or recovered since. Only what has a description, itself or its
        job, in active jobs, and had fewer than `per_hour` sessions in the last hour. With `endpoint_id`, that one, due
        or not.
        """

    async def record_session(self, session: ModelSession, worker: str, event: Event) -> None:
        """Keep a session, end the lease, say when the next one is due, and count its tokens for the month."""

    async def sessions(
        self, tenant_id: str, endpoint_id: str | None = None, before_id: str | None = None, limit: int = 50
    ) -> list[ModelSession]:
        """Newest first."""

    async def session(self, tenant_id: str, session_id: str) -> ModelSession | None: ...

    async def token_usage(self, tenant_id: str) -> TokenUsage:
        """Of this month, by the store's clock."""

    async def shadow_firings(self, tenant_id: str, endpoint_id: str | None, limit: int) -> list[Event]:
        """What rules would have done in shadow mode, newest first, as far back as events are kept."""

    async def owner_of(self, endpoint_id: str) -> Endpoint | None:
        """An endpoint by its id alone: its tenant is not known yet."""


Look = Callable[[Endpoint], Awaitable[ModelSession | None]]
"""One session about an endpoint now; None where another analyst is at it, or its job is not active."""


class Simulator(Protocol):
    """Scenarios, played away from whoever asks: a simulation may take all of a processor for a while."""

    def scenarios(self) -> list[dict[str, object]]:
        """Those that come with Mainspring: name, title, description, minutes."""

    def scenario(self, name: str) -> dict[str, object]:
        """One of them in full. Raises NotFound."""

    async def play(self, tenant_id: str, wanted: dict[str, object]) -> dict[str, object]:
        """Play `scenario` (a name) or `document` (YAML) with `seed`, and tell what happened.

        Raises InvalidInput for what is no scenario, and for one that takes too long or too much.
        """


class Budget(Struct, frozen=True):
    """What one session may spend."""

    tool_calls: int
    tokens: int
    seconds: float


class Conversation(Struct, frozen=True):
    """How a session with a model went. `final` are the arguments of its last tool, None if it never came to that."""

    tokens_in: int = 0
    tokens_out: int = 0
    final: dict[str, object] | None = None
    text: str = ""
    is_truncated: bool = False
    is_spent: bool = False  # a budget or the time ended it
    fault: str = ""  # what the model or its server did wrong
    is_stopped: bool = False  # the planner was switched off meanwhile
    is_unfinished: bool = False  # it ended without its last tool, or with arguments that do not fit it
    others: tuple[ToolCall, ...] = ()  # calls that were never executed: unknown tools, arguments that do not fit
    status_code: int | None = None  # of the server's refusal
    retry_after_s: float | None = None


class LanguageModel(Protocol):
    name: str

    async def converse(
        self,
        instructions: str,
        prompt: str,
        tools: Sequence[ToolSpec],
        final: ToolSpec,
        call: Callable[[str, dict[str, object]], Coroutine[Any, Any, str]],
        budget: Budget,
    ) -> Conversation:
        """Hold one session within its budget; `call` executes a tool. Never raises for what a model or server does."""
