"""Deliver one-time links: by email if a mail server is configured, otherwise shown to their creator.

A link sent by email never uses the host of the request, which its creator could forge.
"""

from fastapi import Request

from mainspring.api.context import Context
from mainspring.api.problems import HttpProblem
from mainspring.domain.access.account import Proof, digest
from mainspring.domain.access.scope import Principal
from mainspring.domain.notify.subscription import DestinationKind
from mainspring.domain.run import RunStatus


def sends_links(request: Request) -> bool:
    context: Context = request.app.state.context
    return bool(context.settings.smtp_url)


def proof_of(request: Request, principal: Principal) -> str:
    """What using a link proves about its address; "": nothing."""
    if sends_links(request):
        return Proof.EMAIL
    return Proof.OPERATOR if principal.is_operator else ""


async def hand_out(
    request: Request, email: str, token: str, what: str, *, to_operator: bool = False
) -> tuple[str | None, bool]:
    """Sends the link, or returns it; the second value says whether it was sent. `what` states its purpose.

    An operator is shown a link that cannot be sent: operators can set any password anyway.
    """
    if not token:
        return None, False
    context: Context = request.app.state.context
    if not sends_links(request):
        return link_of(context.settings.public_url or str(request.base_url), token), False
    link = link_of(context.settings.site, token)
    text = f"{what}\n\n{link}\n\nThe link works once, within 24 hours. If you did not expect this email, ignore it."
    message_id = f"link-{digest(token)[:32]}"
    sent = await context.messengers[DestinationKind.MAIL].send(email, "Your link", text, message_id)
    if sent.status is not RunStatus.SUCCESS:
        if to_operator:
            return link, False
        raise HttpProblem(
            "conflict",
            f"the link for {email} could not be sent: {sent.error}; check MAINSPRING_SMTP_URL, then try again",
        )
    return None, True


def link_of(site: str, token: str) -> str:
    """In the fragment, which no server or log sees."""
    return f"{site.rstrip('/')}/setup#token={token}"
