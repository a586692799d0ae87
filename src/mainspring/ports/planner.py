"""Ports of the planner: rules and the runs they judge, model sessions, and the model itself."""

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
from mainspring.domain.schedule.changes import Advice, Change


class RuleRevision(Struct, frozen=True):
    """A rule, its endpoint ("" for the whole job), and what it remembers, by endpoint."""

    stored: StoredRule
    owner: str
    states: dict[str, RuleState]


class PlannerStore(Protocol):
    """Rules, and the finished runs they have not judged yet. Each finished run is judged once, by any planner."""

    async def next_page(self, limit: int) -> JudgedPage | None:
        """Finished runs of up to `limit` transactions after the cursor, some hundreds at most.

        None without rules or new runs. A page without runs only moves the cursor.
        """

    async def facts(self, wants: Sequence[FactsWanted]) -> RuleFacts:
        """The newest results, newest first, and the current health of endpoints; test runs do not count.

        Results are those up to the run or time that each request names.
        """

    async def health(self, wanted: HealthWanted) -> Health:
        """An endpoint's health at a time, from the runs finished until then; test runs do not count."""

    async def window(self, wanted: RunWindow) -> tuple[RuleResult, ...]:
        """The runs of a window, newest first, within its bounds (`run_window.fitting`); bodies only if requested.

        Uses an index of the endpoint's runs, so other records cost nothing; test runs do not count.
        """

    async def commit_page(self, page: JudgedPage, decisions: Decisions) -> bool:
        """Moves the cursor past the page, applies the firings to locked rows, writes what rules remember: all or
        nothing.

        False, having written nothing, if another planner moved the cursor first.
        """

    async def commit_advice(self, tenant_id: str, endpoint_id: str, advice: Advice) -> Change | None:
        """Like `change_endpoints`, for advice to one endpoint. None if it does not exist.

        Here and in `commit_page` the modes cannot change until the change is written: after `set_mode` returned,
        nothing is committed under the old mode.
        """

    async def wait_for_runs(self, timeout_s: float) -> None:
        """Returns soon after something was recorded, or after `timeout_s`. May also return early."""

    async def add_rules(self, rules: Sequence[StoredRule], event: Event) -> None:
        """Raises Conflict if the owner has a rule of this name. They judge runs that finish from now on."""

    async def put_rule(self, stored: StoredRule, event: Event) -> bool:
        """Writes an edited rule: its count restarts, and its cooldown continues. False if it does not exist any more.

        Raises Conflict if its owner has another rule of this name.
        """

    async def remove_rules(self, tenant_id: str, ids: Sequence[str], event: Event) -> int:
        """Removes rules; returns how many there were."""

    async def rules(
        self, tenant_id: str, job_id: str | None = None, endpoint_id: str | None = None
    ) -> list[RuleRevision]:
        """Rules of a tenant, a job with its endpoints, or one endpoint, in the order in which they were written."""

    async def modes(self) -> dict[str, str]:
        """Scopes in which the planner is not live: `all`, `tenant:ID` or `endpoint:ID`."""

    async def set_mode(self, scope: str, mode: str, event: Event) -> None:
        """In shadow mode and off, pending proposals of the scope are withdrawn in the same transaction."""


class ProposalFilter(Struct, frozen=True):
    """A page of proposals, newest first; `before` is the creation time and id of the last one seen."""

    endpoint_id: str | None = None
    state: str | None = None
    before: tuple[datetime, str] | None = None
    limit: int = 50


class ProposalStore(Protocol):
    """Proposals of mode `ask`. They are written with the change of their endpoint: `Change.proposals`.

    Of two decisions about one proposal, the second raises Conflict and writes nothing.
    """

    async def proposals(self, tenant_id: str, wanted: ProposalFilter) -> list[StoredProposal]: ...

    async def proposal(self, tenant_id: str, proposal_id: str) -> StoredProposal | None: ...

    async def count_pending(self, tenant_id: str, endpoint_id: str | None = None) -> int:
        """The number of pending proposals of the tenant or of one endpoint."""


class SessionStore(Protocol):
    """Model sessions: which endpoints are due, results and spending; and what rules did in shadow mode."""

    async def claim_analyses(
        self, worker: str, lease_ms: int, lookback_ms: int, limit: int, per_hour: int, endpoint_id: str | None = None
    ) -> list[str]:
        """Leases endpoints that are due for analysis to `worker`; no endpoint is ever leased to two at once.

        An endpoint is due if it ran within the look-back or was analysed before, and one of these holds: it was never
        analysed, its next analysis is due, its consecutive failures increased since, or it recovered since. It must
        have a description, itself or its job, its job must be active, and it must have had fewer than `per_hour`
        sessions in the last hour. With `endpoint_id`, that endpoint, due or not.
        """

    async def record_session(self, session: ModelSession, worker: str, event: Event) -> None:
        """Stores a session, ends the lease, plans the next one, and counts its tokens for the month."""

    async def sessions(
        self, tenant_id: str, endpoint_id: str | None = None, before_id: str | None = None, limit: int = 50
    ) -> list[ModelSession]:
        """Newest first."""

    async def session(self, tenant_id: str, session_id: str) -> ModelSession | None: ...

    async def token_usage(self, tenant_id: str) -> TokenUsage:
        """Usage of this month, by the store's clock."""

    async def shadow_firings(self, tenant_id: str, endpoint_id: str | None, limit: int) -> list[Event]:
        """What rules would have done in shadow mode, newest first, as far back as events are kept."""

    async def owner_of(self, endpoint_id: str) -> Endpoint | None:
        """An endpoint by its id alone: its tenant is not known yet."""


Look = Callable[[Endpoint], Awaitable[ModelSession | None]]
"""One session about an endpoint now; None if another analyst works on it, or its job is not active."""


class Simulator(Protocol):
    """Scenarios, run apart from the caller: a simulation may occupy a processor for a while."""

    def scenarios(self) -> list[dict[str, object]]:
        """The built-in scenarios: name, title, description, minutes. Reads files: call it in a thread."""

    def scenario(self, name: str) -> dict[str, object]:
        """A scenario with all its data. Raises NotFound."""

    async def play(self, tenant_id: str, wanted: dict[str, object]) -> dict[str, object]:
        """Runs `scenario` (a name) or `document` (YAML) with `seed`, and returns the report.

        Raises InvalidInput for an invalid scenario, and for one that takes too long or too much memory.
        """


class Budget(Struct, frozen=True):
    """What one session may spend."""

    tool_calls: int
    tokens: int
    seconds: float


class Conversation(Struct, frozen=True):
    """The result of a session with a model. `final` are the arguments of its last tool, None if it was not called."""

    tokens_in: int = 0
    tokens_out: int = 0
    final: dict[str, object] | None = None
    text: str = ""
    is_truncated: bool = False
    is_spent: bool = False  # a budget or the time ended it
    fault: str = ""  # errors of the model or its server
    is_stopped: bool = False  # the planner was switched off meanwhile
    is_unfinished: bool = False  # it ended without its last tool, or with invalid arguments for it
    others: tuple[ToolCall, ...] = ()  # calls that were not executed: unknown tools, invalid arguments
    status_code: int | None = None  # from the server's refusal
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
        """Runs one session within its budget; `call` executes a tool. Never raises for what a model or server does."""
