"""Apply text as a file, in few words."""

from collections.abc import Mapping
from textwrap import dedent

import pytest

from mainspring.documents.apply import Report, apply_files
from mainspring.documents.faults import InvalidDocument
from mainspring.documents.plan import Options
from mainspring.documents.references import local
from mainspring.domain.notify.subscription import DestinationKind
from mainspring.operations.alerts import Messengers
from mainspring.operations.context import Desk
from mainspring.outbound.apprise import AppriseSender
from mainspring.outbound.mail import Mailer
from mainspring.wiring.clock import SystemClock

SECRETS = {"TOKEN": "s3cret", "OTHER": "0ther"}
MESSENGERS: Messengers = {
    DestinationKind.MAIL: Mailer("", "", clock=SystemClock().now),
    DestinationKind.APPRISE: AppriseSender(allowed=False),
}


async def apply(
    desk: Desk,
    text: str,
    *,
    file: str = "shop.yaml",
    prune: bool = False,
    take_over: bool = False,
    dry_run: bool = False,
    environment: Mapping[str, str] = SECRETS,
) -> Report:
    options = Options(local(environment), MESSENGERS, prune=prune, take_over=take_over)
    return await apply_files(desk, [(file, dedent(text).encode())], options, dry_run=dry_run)


async def faults(desk: Desk, text: str, **how: bool) -> list[str]:
    """What it is refused with, each as `line:column message`."""
    with pytest.raises(InvalidDocument) as refused:
        await apply(desk, text, **how)  # type: ignore[arg-type]  # flags
    return [f"{fault.place.line}:{fault.place.column} {fault.message}" for fault in refused.value.faults]


def told(report: Report) -> list[str]:
    """The steps of a report, a line each."""
    return [
        f"{step.act} {step.kind} {step.name}" + "".join(f" {c.field}:{c.before}>{c.after}" for c in step.fields)
        for step in report.steps
    ]
