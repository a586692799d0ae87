"""`mainspring user ...`: people who can sign in. Users belong to the installation; `member` sets roles per tenant."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.cli import remote_values
from mainspring.cli.command import CommandApp, OutputOption, ask, current_settings, server_in_use
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.table import Column, show_table
from mainspring.domain.access.scope import Role
from mainspring.domain.errors import InvalidInput
from mainspring.views.sentences import when
from mainspring.views.shapes import user_shape

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.client import Client
    from mainspring.domain.access.account import User
    from mainspring.operations.accounts import Invitation
    from mainspring.operations.endpoints import Desk
    from mainspring.settings import Settings

app = CommandApp("Users, who sign in with a password, a one-time link or single sign-on.")

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The user's email address, or id.")]
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input, one line.")
]


@app.command("add")
def add(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Email address, used to sign in.")],
    name: Annotated[str, typer.Option("--name", help="Name of the user; default: from the address.")] = "",
    role: Annotated[
        Role | None, typer.Option("--role", help="Role in MAINSPRING_TENANT; default: owner for the first user.")
    ] = None,
    operator: Annotated[
        bool,
        typer.Option("--operator", help="Allow listing and creating tenants and users; the first user may anyway."),
    ] = False,
    password_stdin: PasswordStdin = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a user, and print a link to set a password; or read one with --password-stdin.

    The first user becomes owner of MAINSPRING_TENANT and operator of the installation.
    """
    from mainspring.operations.accounts import Invitation, add_user
    from mainspring.wiring.desk import open_password_hasher

    password = read_password() if password_stdin else None

    async def work(desk: "Desk") -> "Invitation":
        is_first = not await desk.stores.accounts.users()
        wanted = role or (Role.OWNER if is_first else None)
        place = (desk.tenant_id, wanted) if wanted else None
        return await add_user(
            desk,
            open_password_hasher(),
            email,
            name,
            password=password,
            is_operator=operator or is_first,
            place=place,
        )

    def remotely(client: "Client") -> "Invitation":
        tenant = client.tenant.read_usage()["tenant"] if role else None
        place: dict[str, Any] = {"tenant": tenant, "role": role.value} if role else {}
        said = client.users.create(email=email, name=name, operator=operator, **place)
        made = remote_values.invitation_of(said)
        if password is None:
            return made
        remote_values.refuse_emailed(said)
        client.auth.set_up(token=made.token, password=password)
        return Invitation(remote_values.user_of(client.users.read(made.user.id)))

    _show_invitation(ask(work, remotely), "added", output)


@app.command("list")
def list_users(output: OutputOption = Output.TABLE) -> None:
    """List every user of the installation."""

    async def work(desk: "Desk") -> tuple[list["User"], "datetime"]:
        return await desk.stores.accounts.users(), await desk.stores.schedule.now()

    users, now = ask(
        work,
        lambda client: ([remote_values.user_of(shape) for shape in client.users.list()["items"]], remote_values.now()),
    )
    if output is Output.JSON:
        show_json([user_shape(user) for user in users])
        return
    columns = (
        Column("EMAIL", can_cut=True),
        Column("NAME", can_cut=True),
        Column("STATE"),
        Column("CREATED", spare=True),
    )
    rows = [(user.email, user.name, _state(user), when(now, user.created_at)) for user in users]
    show_table(columns, rows, "No users yet. Create a link for the first owner: mainspring user link")


@app.command("disable")
def disable(email: Email, output: OutputOption = Output.TABLE) -> None:
    """Disable a user; all sessions end. API keys that the user created stay."""
    _show(_edit(email, True), "disabled", output)


@app.command("enable")
def enable(email: Email, output: OutputOption = Output.TABLE) -> None:
    """Enable a disabled user."""
    _show(_edit(email, False), "enabled", output)


@app.command("reset-factor")
def reset_factor(email: Email, output: OutputOption = Output.TABLE) -> None:
    """Remove a user's second factor, if the app and the recovery codes are lost."""
    from mainspring.operations.accounts import find_user
    from mainspring.operations.second_factor import reset

    async def work(desk: "Desk") -> "User":
        user = await find_user(desk, email)
        await reset(desk, user)
        return user

    user = ask(work, lambda client: remote_values.user_of(client.users.reset_second_factor(email)))
    _show(user, "removed the second factor of", output)


@app.command("password")
def password(email: Email, password_stdin: PasswordStdin = False, output: OutputOption = Output.TABLE) -> None:
    """Set a user's password; all sessions of the user end.

    The password is prompted for on a terminal, or read from standard input with --password-stdin.
    """
    from mainspring.operations.accounts import set_password
    from mainspring.wiring.desk import open_password_hasher

    wanted = read_password() if password_stdin else _ask_password()
    user = ask(
        lambda desk: set_password(desk, open_password_hasher(), email, wanted),
        lambda client: remote_values.set_password(client, email, wanted),
    )
    _show(user, "set the password of", output)


@app.command("link")
def link(
    email: Annotated[
        str | None, typer.Argument(metavar="EMAIL", help="Email address of the user; default: the first owner.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print a link with which a user sets a password; it works once, within 24 hours.

    Without EMAIL it creates the first owner, and only while there are no users.
    """
    from mainspring.operations.accounts import make_link, make_setup_link
    from mainspring.wiring.desk import open_password_hasher

    if email is not None:
        wanted = email
        made = ask(
            lambda desk: make_link(desk, open_password_hasher(), wanted),
            lambda client: remote_values.invitation_of(client.users.create_link(wanted)),
        )
        _show_invitation(made, "created a link for", output)
        return
    token = ask(lambda desk: make_setup_link(desk, open_password_hasher()))
    _show_link(link_of(current_settings(), token), {"user": None}, output)


def link_of(settings: "Settings", token: str, url: str = "") -> str:
    """In the fragment, which no server or log sees."""
    site = settings.public_url.rstrip("/") or url or server_in_use() or settings.site
    return f"{site}/setup#token={token}"


def read_password() -> str:
    line = sys.stdin.readline()
    if not line:
        raise InvalidInput("no password was given on standard input; write it there, as one line", field="password")
    return line.rstrip("\r\n")


def _ask_password() -> str:
    if not sys.stdin.isatty():
        raise InvalidInput(
            "there is no terminal to prompt for the password; give it with --password-stdin", field="password"
        )
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))


def _edit(email: str, disabled: bool) -> "User":
    from mainspring.operations.accounts import edit_user

    return ask(
        lambda desk: edit_user(desk, email, disabled=disabled),
        lambda client: remote_values.user_of(client.users.update(email, disabled=disabled)),
    )


def _state(user: "User") -> str:
    if user.disabled_at is not None:
        return "disabled"
    ways = "active" if user.has_password or user.subject else "active, no password yet"
    return f"{ways}, operator" if user.is_operator else ways


def _show(user: "User", what: str, output: Output) -> None:
    if output is Output.JSON:
        show_json(user_shape(user))
    else:
        say(f"{what} {user.email}")


def _show_invitation(made: "Invitation", what: str, output: Output) -> None:
    if not made.token:
        _show(made.user, what, output)
        return
    if output is not Output.JSON:
        say(f"{what} {made.user.email}")
    _show_link(link_of(current_settings(), made.token), {"user": user_shape(made.user)}, output)


def _show_link(url: str, rest: dict[str, object], output: Output) -> None:
    if output is Output.JSON:
        show_json({**rest, "link": url})
        return
    say(url)
    note("the link works once, within 24 hours; anyone who has it can set the password")
    if not (current_settings().public_url or server_in_use()):
        note("if the server listens elsewhere, put its URL before /setup, or set MAINSPRING_PUBLIC_URL to it")
