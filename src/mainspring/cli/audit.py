"""`mainspring audit ...`: who did what, and whether the record was changed."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote_values
from mainspring.cli.command import CommandApp, OutputOption, ask, fail_unless
from mainspring.cli.output import Output, say, show_json
from mainspring.cli.progress import progress
from mainspring.cli.remote import PAGE
from mainspring.cli.table import Column, show_table
from mainspring.views.sentences import clock
from mainspring.views.shapes import audit_shape

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.access.audit import AuditEntry
    from mainspring.operations.endpoints import Desk

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
    from mainspring.operations.audit import audit_entries

    def remotely(client: "Client") -> list["AuditEntry"]:
        from itertools import islice

        first = {"cursor": str(before)} if before is not None else {}
        found = client.tenants.iterate_audit_entries(installation=installation, limit=min(limit, PAGE), **first)
        return [remote_values.audit_of(shape) for shape in islice(found, limit)]

    entries: list[AuditEntry] = ask(lambda desk: audit_entries(_at(desk, installation), before, limit), remotely)
    if output is Output.JSON:
        show_json([audit_shape(entry) for entry in entries])
        return
    columns = (
        Column("NO"), Column("AT"), Column("ACTOR", can_cut=True), Column("ACT"), Column("SUBJECT", can_cut=True),
        Column("ADDRESS", spare=True),
    )  # fmt: skip
    rows = [
        (str(entry.seq), clock(entry.at), entry.actor, entry.act, entry.subject or "-", entry.address or "-")
        for entry in entries
    ]
    show_table(columns, rows, "The audit trail is empty.")


@app.command("verify")
def verify(installation: Installation = False, output: OutputOption = Output.TABLE) -> None:
    """Verify that no entry was changed, moved, added or removed; exits with 1 if one was.

    Each entry is sealed together with the previous one, with a key that is not in the database.
    """
    from mainspring.domain.access.audit import AuditHead
    from mainspring.operations.audit import verify_audit

    with progress("verify"):
        found = ask(
            lambda desk: verify_audit(_at(desk, installation)),
            lambda client: remote_values.verdict_of(client.tenants.verify_audit(installation=installation)),
        )
    whole = isinstance(found, AuditHead)
    if output is Output.JSON:
        fault = None if isinstance(found, AuditHead) else {"at": found.seq, "why": found.why}
        show_json({"whole": whole, "entries": found.seq if whole else found.seq - 1, "fault": fault})
    elif isinstance(found, AuditHead):
        say(f"the trail is valid: {found.seq} entr{'y' if found.seq == 1 else 'ies'}")
    else:
        say(f"the trail is broken at entry {found.seq}: {found.why}")
    fail_unless(whole)


def _at(desk: "Desk", installation: bool) -> "Desk":
    from msgspec.structs import replace

    from mainspring.domain.access.audit import INSTALLATION

    return replace(desk, tenant_id=INSTALLATION) if installation else desk
