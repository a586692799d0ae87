"""`mainspring audit ...`: who did what, and whether the record was changed."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for, fail_unless
from mainspring.cli.output import Output, say, show_json
from mainspring.cli.progress import progress
from mainspring.cli.remote import PAGE
from mainspring.cli.table import Column, show_list
from mainspring.views.sentences import clock

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.views.event import AuditEntryView

NUMBER_MAX = 2**63 - 1  # maximum integer of a database
app = CommandApp("The audit trail: every security-relevant action.")

Installation = Annotated[
    bool, typer.Option("--installation", help="The installation's trail (logins, users) instead of the tenant's.")
]


@app.command("list")
def list_entries(
    installation: Installation = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000, help="Number of entries.")] = 50,
    before: Annotated[
        int | None, typer.Option("--before", min=1, max=NUMBER_MAX, help="Only entries before this number.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the newest entries of the trail of the tenant (MAINSPRING_TENANT)."""
    from itertools import islice

    from mainspring.operations.audit import audit_entries
    from mainspring.views.event import AuditEntryView

    async def work(desk: "Desk") -> list["AuditEntryView"]:
        entries = await audit_entries(_at(desk, installation), before, limit)
        names = await desk.stores.look.names(desk.tenant_id, [each.subject for each in entries])
        return [AuditEntryView.of(entry, names.get(entry.subject)) for entry in entries]

    def remotely(client: "Client") -> list["AuditEntryView"]:
        first = {"cursor": str(before)} if before is not None else {}
        found = client.tenants.iterate_audit_entries(installation=installation, limit=min(limit, PAGE), **first)
        return AuditEntryView.read_all(islice(found, limit))

    entries = ask(work, remotely)
    columns = (
        Column("ENTRY"), Column("AT"), Column("ACTOR", can_cut=True), Column("ACTION"), Column("SUBJECT", can_cut=True),
        Column("ADDRESS", spare=True),
    )  # fmt: skip
    rows = [
        (str(entry.seq), clock(entry.at), entry.actor, entry.act, entry.subject or "-", entry.address or "-")
        for entry in entries
    ]
    show_list(entries, output, columns, rows, "The audit trail is empty.")


@app.command("verify")
def verify(installation: Installation = False, output: OutputOption = Output.TABLE) -> None:
    """Verify that no entry was changed, moved, added or removed; exits with 1 if one was.

    Each entry is sealed together with the previous one, with a key that is not in the database.
    """
    from mainspring.operations.audit import verify_audit
    from mainspring.views.event import AuditVerdict

    with progress("verify"):
        found = ask_for(
            AuditVerdict,
            lambda desk: verify_audit(_at(desk, installation)),
            lambda client: client.tenants.verify_audit(installation=installation),
        )
    if output is Output.JSON:
        show_json(found)
    elif found.whole:
        say(f"the trail is valid: {found.entries} entr{'y' if found.entries == 1 else 'ies'}")
    else:
        say(f"the trail is broken at entry {found.fault_at}: {found.why}")
    fail_unless(found.whole)


def _at(desk: "Desk", installation: bool) -> "Desk":
    from msgspec.structs import replace

    from mainspring.domain.access.audit import INSTALLATION

    return replace(desk, tenant_id=INSTALLATION) if installation else desk
