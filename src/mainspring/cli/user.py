"""`mainspring user ...`: people who can sign in. Users belong to the installation; `member` sets roles per tenant."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for, ask_for_all, current_settings, server_in_use
from mainspring.cli.output import Output, answer, note, now, say, show_json
from mainspring.cli.table import Column, show_list
from mainspring.domain.access.scope import Role
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.views.sentences import when

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.accounts import Invitation
    from mainspring.operations.context import Desk
    from mainspring.settings import Settings
    from mainspring.views.account import Invited, UserView


async def post_link(settings: "Settings", email: str, token: str) -> bool:
    """False without a mail server or a link. Raises Conflict if the email cannot be sent."""
    if not settings.smtp_url or not token:
        return False
    from mainspring.domain.access.account import digest
    from mainspring.domain.notify.subscription import DestinationKind
    from mainspring.domain.run import RunStatus
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
    from mainspring.operations.accounts import add_user
    from mainspring.views.account import Invited
    from mainspring.wiring.desk import open_password_hasher

    password = read_password() if password_stdin else None

    async def work(desk: "Desk") -> "Invited":
        is_first = not await desk.stores.accounts.users()
        wanted = role or (Role.OWNER if is_first else None)
        place = (desk.tenant_id, wanted) if wanted else None
        made = await add_user(
            desk,
            open_password_hasher(),
            email,
            name,
            password=password,
            is_operator=operator or is_first,
            place=place,
        )
        return _invited(made)

    def remotely(client: "Client") -> "Invited":
        tenant = client.tenant.read_usage()["tenant"] if role else None
        place: dict[str, Any] = {"tenant": tenant, "role": role.value} if role else {}
        made = Invited.model_validate(client.users.create(email=email, name=name, operator=operator, **place))
        return made if password is None else _use_link(client, made, password)

    _show_invitation(ask(work, remotely), "added", output)


@app.command("list")
def list_users(output: OutputOption = Output.TABLE) -> None:
    """List every user of the installation."""
    from mainspring.views.account import UserView

    users = ask_for_all(
        UserView, lambda desk: desk.stores.accounts.users(), lambda client: client.users.list()["items"]
    )
    columns = (
        Column("EMAIL", can_cut=True),
        Column("NAME", can_cut=True),
        Column("STATE"),
        Column("CREATED", spare=True),
    )
    at = now()
    rows = [(user.email, user.name, _state(user), when(at, user.created_at)) for user in users]
    show_list(users, output, columns, rows, "No user yet. Make a link for the first owner: mainspring user link")


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
    from mainspring.views.account import UserView

    async def work(desk: "Desk") -> "UserView":
        user = await find_user(desk, email)
        await reset(desk, user)
        return UserView.of(user)

    user = ask(work, lambda client: UserView.model_validate(client.users.reset_second_factor(email)))
    _show(user, "removed the second factor of", output)


@app.command("password")
def password(email: Email, password_stdin: PasswordStdin = False, output: OutputOption = Output.TABLE) -> None:
    """Set a user's password; all sessions of the user end.

    The password is prompted for on a terminal, or read from standard input with --password-stdin.
    """
    from mainspring.operations.accounts import set_password
    from mainspring.views.account import Invited, UserView
    from mainspring.wiring.desk import open_password_hasher

    wanted = read_password() if password_stdin else _ask_password()
    user = ask_for(
        UserView,
        lambda desk: set_password(desk, open_password_hasher(), email, wanted),
        lambda client: _use_link(client, Invited.model_validate(client.users.create_link(email)), wanted).user,
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
    from mainspring.views.account import Invited
    from mainspring.wiring.desk import open_password_hasher

    if email is not None:
        wanted = email

        async def work(desk: "Desk") -> "Invited":
            return _invited(await make_link(desk, open_password_hasher(), wanted))

        made = ask(work, lambda client: Invited.model_validate(client.users.create_link(wanted)))
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


def _edit(email: str, disabled: bool) -> "UserView":
    from mainspring.operations.accounts import edit_user
    from mainspring.views.account import UserView

    return ask_for(
        UserView,
        lambda desk: edit_user(desk, email, disabled=disabled),
        lambda client: client.users.update(email, disabled=disabled),
    )


def _invited(made: "Invitation") -> "Invited":
    from mainspring.views.account import Invited, UserView

    link = link_of(current_settings(), made.token) if made.token else None
    return Invited(user=UserView.of(made.user), link=link, emailed=False)


def _use_link(client: "Client", made: "Invited", password: str) -> "Invited":
    """Set a password in the person's place. A server that sends links by email shows none."""
    from mainspring.views.account import UserView

    if made.emailed or made.link is None:
        raise InvalidInput(
            f"the server has sent the link to {made.user.email} by email; the person sets the password",
            field="password",
        )
    client.auth.set_up(token=made.link.rpartition("#token=")[2], password=password)
    user = UserView.model_validate(client.users.read(made.user.id))
    return made.model_copy(update={"user": user, "link": None})


def _state(user: "UserView") -> str:
    if user.disabled:
        return "disabled"
    ways = "active" if user.has_password or user.oidc else "active, no password yet"
    return f"{ways}, operator" if user.operator else ways


def _show(user: "UserView", what: str, output: Output) -> None:
    answer(user, output, f"{what} {user.email}")


def _show_invitation(made: "Invited", what: str, output: Output) -> None:
    if made.link is None:
        _show(made.user, what, output)
        return
    if output is not Output.JSON:
        say(f"{what} {made.user.email}")
    _show_link(made.link, {"user": made.user}, output)


def _show_link(url: str, rest: dict[str, object], output: Output) -> None:
    if output is Output.JSON:
        show_json({**rest, "link": url})
        return
    say(url)
    note("the link works once, within 24 hours; anyone who has it can set the password")
    if not (current_settings().public_url or server_in_use()):
        note("if the server listens elsewhere, put its URL before /setup, or set MAINSPRING_PUBLIC_URL to it")
