"""Send an email through the channel of a plug-in, with bounds on its time and exceptions."""

import asyncio

import msgspec

from mainspring.plugins import Channel, NotSent, OutgoingEmail
from mainspring.ports.workflows import Intent
from mainspring.workflow.audit import canonical
from mainspring.workflow.engine import VALUE_BYTES_MAX
from mainspring.workflow.model import Idempotency

Ending = tuple[str, dict[str, object]]
ERROR_MAX = 500


class ChannelHandler:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def run(self, intent: Intent) -> Ending:
        to, subject, body, sender = (str(intent.request.get(each) or "") for each in ("to", "subject", "body", "from"))
        email = OutgoingEmail(to, subject, body, sender, intent.key, intent.attempt)
        try:
            async with asyncio.timeout(intent.timeout_ms / 1000):
                result = await self._channel.send(email)
        except NotSent as refusal:
            return "failure", {"code": refusal.code, "error": str(refusal)[:ERROR_MAX]}
        except TimeoutError:
            return _doubtful(intent, "timeout", f"the channel took longer than {intent.timeout_ms} ms")
        except Exception as fault:  # third-party code: whether the email was sent is unknown
            return _doubtful(intent, "channel", f"{type(fault).__name__}: {fault}")
        return "success", {"result": _kept(result)}


def _doubtful(intent: Intent, code: str, error: str) -> Ending:
    outcome = "unknown" if intent.idempotency == Idempotency.AT_MOST_ONCE else "failure"
    return outcome, {"code": code, "error": error[:ERROR_MAX]}


def _kept(result: object) -> object:
    """The result as a log can store it; the email is sent, so an unusual result is not a failure."""
    try:
        plain, text = msgspec.json.encode(result), canonical(result)
    except (TypeError, ValueError, UnicodeEncodeError, OverflowError):
        return None
    return result if len(text) <= VALUE_BYTES_MAX and b'"$double"' not in plain else None
