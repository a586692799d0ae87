"""Fill in the templates of a request before it is called. Endpoints without templates never come here.

1. Open the encrypted query string, which may have templates too; its literal parts are redacted from the response.
2. Read earlier runs, only those that the templates name.
3. Fill in. If that fails, nothing is sent, and the outcome names the field and the expression.
"""

import asyncio

from msgspec.structs import replace

from mainspring.domain.access.sealing import query_place, query_secrets
from mainspring.domain.errors import MainspringError
from mainspring.domain.kinds.http import query_of, url_of
from mainspring.domain.kinds.templated import facts_of, filled_in, past_read_by, with_plain_query
from mainspring.domain.run import TEMPLATE, Outcome, Request
from mainspring.domain.target import split_query
from mainspring.domain.templates import TemplateFacts, TemplateFault
from mainspring.outbound.kinds.call import blocked
from mainspring.ports.outbound import Vault
from mainspring.ports.records import RunStore


class TemplateRenderer:
    """`runs` finds earlier runs; without it, a request whose templates read one is blocked."""

    def __init__(self, vault: Vault, runs: RunStore | None) -> None:
        self._vault = vault
        self._runs = runs
        self._turn = asyncio.Lock()  # one by one: an evaluation may take tens of milliseconds

    async def render(self, request: Request) -> Request | Outcome:
        """The request as sent, or the outcome of one that cannot be sent."""
        try:
            request, query = self._opened(request)
        except MainspringError as fault:
            return blocked("secret", str(fault))
        try:
            facts = await self._facts(request)
            async with self._turn:
                await asyncio.sleep(0)
                action = filled_in(request.action, facts)
        except (TemplateFault, MainspringError) as fault:
            return blocked(TEMPLATE, str(fault))
        hidden = query_secrets(split_query(url_of(action))[2]) if query else []
        return replace(request, action=action, hidden=(*request.hidden, *hidden))

    def _opened(self, request: Request) -> tuple[Request, str]:
        sealed = query_of(request.action)
        if not sealed:
            return request, ""
        query = self._vault.open(sealed, query_place(request.tenant_id, request.endpoint_id))
        return replace(request, action=with_plain_query(request.action, query)), query

    async def _facts(self, request: Request) -> TemplateFacts:
        facts = facts_of(request)
        wanted = past_read_by(request.action)
        if not wanted:
            return facts
        if self._runs is None:
            raise TemplateFault(", ".join(sorted(wanted)), "", "earlier runs are not available in this process")
        past = await self._runs.past_runs(request.tenant_id, request.endpoint_id, request.slot_at, wanted)
        return replace(facts, **past)
