"""Send a one-time link by email, if a mail server is configured."""

from mainspring.domain.access.account import digest
from mainspring.domain.errors import Conflict
from mainspring.domain.run import RunStatus
from mainspring.settings import Settings


async def post_link(settings: Settings, email: str, token: str) -> bool:
    """False without a mail server or a link. Raises Conflict if the email cannot be sent."""
    if not settings.smtp_url or not token:
        return False
    from mainspring.domain.notify.subscription import DestinationKind
    from mainspring.wiring.outbound import open_messengers

    text = (
        "You are invited to a tenant on Mainspring. Open the link to see the invitation and accept it:"
        f"\n\n{settings.site}/setup#token={token}"
        "\n\nThe link works once, within 24 hours. If you did not expect this email, ignore it."
    )
    mailer = open_messengers(settings)[DestinationKind.MAIL]
    sent = await mailer.send(email, "Your link", text, f"link-{digest(token)[:32]}")
    if sent.status is not RunStatus.SUCCESS:
        raise Conflict(
            f"the link for {email} could not be sent: {sent.error}; check MAINSPRING_SMTP_URL, then try again",
            kind="member",
            name=email,
        )
    return True
