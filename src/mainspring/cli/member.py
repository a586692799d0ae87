"""`mainspring member ...`: members of the tenant (MAINSPRING_TENANT) and their roles."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote_values
from mainspring.cli.command import CommandApp, OutputOption, ask, current_settings
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.table import Column, show_table
from mainspring.cli.user import link_of
from mainspring.domain.access.scope import Role
from mainspring.views.shapes import member_shape

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.access.account import Member
    from mainspring.operations.endpoints import Desk

app = CommandApp("Members of the tenant (MAINSPRING_TENANT) and their roles: owner, operator, viewer.")

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The member's email address, or the user's id.")]
RoleOption = Annotated[
    Role,
    typer.Option(
        "--role", help="viewer: read only; operator: also run and change; owner: also manage keys and members."
    ),
]


@app.command("list")
def list_members(output: OutputOption = Output.TABLE) -> None:
    """List the members of the tenant, and pending invitations."""
    from mainspring.operations.members import list_members as list_all

    members = ask(
        list_all,
        lambda client: [remote_values.member_of(shape) for shape in client.users.list_members()["items"]],
    )
    if output is Output.JSON:
        show_json([member_shape(member) for member in members])
        return
    columns = (Column("EMAIL", can_cut=True), Column("NAME", can_cut=True), Column("ROLE"))
    rows = [
        (each.email, each.name, each.role.value if each.status == "active" else f"{each.role.value} ({each.status})")
        for each in members
    ]
    show_table(columns, rows, "No members yet. Add one: mainspring member add EMAIL --role operator")


@app.command("add")
def add(email: Email, role: RoleOption = Role.VIEWER, output: OutputOption = Output.TABLE) -> None:
    """Invite a person to the tenant. The person accepts by opening the link, which is emailed or printed."""
    from mainspring.cli.link_email import post_link
    from mainspring.domain.access.account import Proof
    from mainspring.operations.members import add_member
    from mainspring.wiring.desk import open_password_hasher

    async def work(desk: "Desk") -> tuple["Member", str, bool]:
        settings = current_settings()
        proof = Proof.EMAIL if settings.smtp_url else Proof.OPERATOR
        member, token = await add_member(desk, open_password_hasher(), email, role, proof=proof)
        return member, token, await post_link(settings, member.email, token)

    def remotely(client: "Client") -> tuple["Member", str, bool]:
        made = client.users.create_member(email=email, role=role.value)
        return remote_values.member_of(made["member"]), remote_values.token_of(made["link"]), made["emailed"]

    member, token, emailed = ask(work, remotely)
    link = link_of(current_settings(), token) if token and not emailed else None
    if output is Output.JSON:
        show_json({"member": member_shape(member), "link": link, "emailed": emailed})
        return
    say(f"{member.email} is {'invited as ' if token or emailed else ''}{member.role.value}")
    if emailed:
        note(f"a link was sent to {member.email}; it works once, within 24 hours")
    if link:
        say(link)
        note("the link works once, within 24 hours; give it to this person only")


@app.command("role")
def set_role(email: Email, role: RoleOption, output: OutputOption = Output.TABLE) -> None:
    """Change the role of a member; it applies from the next request on."""
    from mainspring.operations.members import set_role as change_role

    member = ask(
        lambda desk: change_role(desk, email, role),
        lambda client: remote_values.member_of(client.users.update_member(email, role=role.value)),
    )
    _show(member, output)


@app.command("remove")
def remove(email: Email, output: OutputOption = Output.TABLE) -> None:
    """Remove a member, or withdraw an invitation; the user account stays. A tenant keeps at least one owner."""
    from mainspring.operations.members import remove_member

    member = ask(
        lambda desk: remove_member(desk, email),
        lambda client: remote_values.member_of(client.users.remove_member(email)),
    )
    if output is Output.JSON:
        show_json({**member_shape(member), "removed": True})
    else:
        say(f"removed {member.email}")


def _show(member: "Member", output: Output) -> None:
    if output is Output.JSON:
        show_json(member_shape(member))
    else:
        say(f"{member.email} is {member.role.value}")
