"""Preview templates: the texts of an endpoint as its next run would send them. Nothing is sent or stored."""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.access.sealing import query_place
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.kinds.http import query_of
from mainspring.domain.kinds.templated import facts_of, past_read_by, preview_of, with_plain_query
from mainspring.domain.run import Request, slot_id
from mainspring.domain.templates import TemplateFault
from mainspring.operations.context import Desk


class TemplatePreview(Struct, frozen=True):
    """The texts with templates by name, filled in for a slot; or why they cannot be."""

    slot_at: datetime
    texts: tuple[tuple[str, str], ...] = ()
    fault: str = ""


async def preview_templates(desk: Desk, endpoint: Endpoint, slot_at: datetime | None = None) -> TemplatePreview | None:
    """For the next run, or another time; None if the endpoint has no templates."""
    action = endpoint.action
    if not action.templated:
        return None
    at = slot_at or endpoint.next_run_at or await desk.stores.schedule.now()
    if sealed := query_of(action):
        action = with_plain_query(action, desk.vault.open(sealed, query_place(desk.tenant_id, endpoint.id)))
    request = Request(
        endpoint.tenant_id, endpoint.id, slot_id(endpoint.id, at), at, 1, action, endpoint=endpoint.name,
        job=endpoint.job,
    )  # fmt: skip
    facts = facts_of(request)
    if wanted := past_read_by(action):
        facts = replace(facts, **await desk.stores.runs.past_runs(desk.tenant_id, endpoint.id, at, wanted))
    try:
        return TemplatePreview(at, tuple(preview_of(action, facts)))
    except TemplateFault as fault:
        return TemplatePreview(at, fault=str(fault))
