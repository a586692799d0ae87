"""`mainspring member ...`: members of the tenant (MAINSPRING_TENANT) and their roles."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for, ask_for_all, current_settings
from mainspring.cli.output import Output, answer, note, say, show_json
from mainspring.cli.table import Column, show_list
from mainspring.cli.user import link_of
from mainspring.domain.access.scope import Role

if TYPE_CHECKING:
    from mainspring.operations.context import Desk
    from mainspring.views.account import MemberAdded, MemberView

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
    from mainspring.views.account import MemberView

    members = ask_for_all(MemberView, list_all, lambda client: client.users.list_members()["items"])
    columns = (Column("EMAIL", can_cut=True), Column("NAME", can_cut=True), Column("ROLE"))
    rows = [
        (each.email, each.name, each.role if each.status == "active" else f"{each.role} ({each.status})")
        for each in members
    ]
    show_list(members, output, columns, rows, "No members yet. Add one: mainspring member add EMAIL --role operator")


@app.command("add")
def add(email: Email, role: RoleOption = Role.VIEWER, output: OutputOption = Output.TABLE) -> None:
    """Invite a person to the tenant. The person accepts by opening the link, which is emailed or printed."""
    from mainspring.cli.user import post_link
    from mainspring.domain.access.account import Proof
    from mainspring.operations.members import add_member
    from mainspring.views.account import MemberAdded, MemberView
    from mainspring.wiring.desk import open_password_hasher

    async def work(desk: "Desk") -> "MemberAdded":
        settings = current_settings()
        proof = Proof.EMAIL if settings.smtp_url else Proof.OPERATOR
        member, token = await add_member(desk, open_password_hasher(), email, role, proof=proof)
        emailed = await post_link(settings, member.email, token)
        link = link_of(settings, token) if token and not emailed else None
        return MemberAdded(member=MemberView.of(member), link=link, emailed=emailed)

    added = ask(
        work, lambda client: MemberAdded.model_validate(client.users.create_member(email=email, role=role.value))
    )
    if output is Output.JSON:
        show_json(added)
        return
    member = added.member
    say(f"{member.email} is {'invited as ' if added.link or added.emailed else ''}{member.role}")
    if added.emailed:
        note(f"a link was sent to {member.email}; it opens once, within 24 hours")
    if added.link:
        say(added.link)
        note("the link opens once, within 24 hours; give it to this person only")


@app.command("role")
def set_role(email: Email, role: RoleOption, output: OutputOption = Output.TABLE) -> None:
    """Change the role of a member; it applies from the next request on."""
    from mainspring.operations.members import set_role as change_role
    from mainspring.views.account import MemberView

    member = ask_for(
        MemberView,
        lambda desk: change_role(desk, email, role),
        lambda client: client.users.update_member(email, role=role.value),
    )
    _show(member, output)


@app.command("remove")
def remove(email: Email, output: OutputOption = Output.TABLE) -> None:
    """Remove a member, or withdraw an invitation; the user account stays. A tenant keeps at least one owner."""
    from mainspring.operations.members import remove_member
    from mainspring.views.account import MemberView

    member = ask_for(
        MemberView, lambda desk: remove_member(desk, email), lambda client: client.users.remove_member(email)
    )
    answer({**member.as_json(), "removed": True}, output, f"removed {member.email}")


def _show(member: "MemberView", output: Output) -> None:
    answer(member, output, f"{member.email} is {member.role}")
