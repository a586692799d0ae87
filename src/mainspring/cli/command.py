"""The base of all commands: run a command locally or through a server, and map errors to exit codes.

A command parses, calls one operation or one read, and prints. What it raises is mapped here, once, to a message on
standard error and an exit code; nothing else ends a command. Heavy imports happen inside functions, in all modules of
this package: `mainspring --help` must stay below 0.3 s.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import typer
from typer._click.exceptions import UsageError  # Typer has no public name for it
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType

from mainspring.cli.arguments import refuse_references
from mainspring.cli.output import Output, note, show_error
from mainspring.cli.server_support import HERE, READS
from mainspring.domain.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    MainspringError,
    Misconfigured,
    NoDatabase,
    NotAuthenticated,
    NotFound,
    Outdated,
    QuotaExceeded,
    StoreUnavailable,
    TooManyRequests,
)

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.settings import Settings

T = TypeVar("T")
S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)
V_co = TypeVar("V_co", covariant=True)


class ViewType(Protocol[S_contra, V_co]):
    """The class of a view: made from a domain value, or from the JSON of a server."""

    def of(self, value: S_contra, /) -> V_co: ...

    def model_validate(self, given: Any, /) -> V_co: ...


# The meaning of each exit code for scripts. 2 is Typer's own; 78 is EX_CONFIG of sysexits.h, which systemd understands.
EXIT_CODES: dict[int, str] = {
    0: "Done.",
    1: "Refused or failed: the message says what was wrong and what to do.",
    2: "Usage error: unknown command or option, or a value of the wrong kind.",
    3: "Not found: the message suggests the nearest name.",
    4: "Conflict: the state must change first.",
    5: "The database or the server is unavailable; try again.",
    6: "Not allowed: no valid key or password, or the required scope is missing.",
    7: "From `diff`: something would change.",
    78: "Misconfigured: a setting must change.",
}
WOULD_CHANGE = 7
EXIT_CODE_OF: dict[type[MainspringError], int] = {
    InvalidInput: 1,
    QuotaExceeded: 1,
    NotFound: 3,
    Conflict: 4,
    Outdated: 4,
    StoreUnavailable: 5,
    TooManyRequests: 5,
    NotAuthenticated: 6,
    Forbidden: 6,
    Misconfigured: 78,
}


def exit_code_of(fault: MainspringError) -> int:
    return next((EXIT_CODE_OF[kind] for kind in type(fault).__mro__ if kind in EXIT_CODE_OF), 1)


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="Print a table for people, or JSON for programs.")]


class CommandApp(typer.Typer):
    """A Typer whose commands map what they raise."""

    def __init__(self, summary: str, *, completes: bool = False) -> None:
        # Plain help: the rich one costs 0.15 s at every --help and every usage error.
        super().__init__(
            cls=CommandGroup,
            help=summary,
            no_args_is_help=True,
            add_completion=completes,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
        )

    def command(  # type: ignore[override]  # the other options of Typer's are not used here
        self, name: str, cls: "type[Command] | None" = None
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        return super().command(name, cls=cls or Command)


class CommandGroup(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with our_words(args):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        with our_words(args, tuple(self.commands), args[0]):
            return super().resolve_command(ctx, args)


@contextmanager
def our_words(args: list[str], commands: tuple[str, ...] = (), command: str = "") -> Iterator[None]:
    """Reports command-line errors in our words; for groups, also unknown commands."""
    given = tuple(args)  # the parser takes from them
    try:
        yield
    except UsageError as fault:
        from mainspring.cli.usage_errors import UsageInJson, in_our_words, unknown_command, wants_json

        unknown = command and command not in commands and not command.startswith("-")
        told = unknown_command(fault, command, commands) if unknown else in_our_words(fault, given)
        raise (UsageInJson(told.message, told.ctx) if wants_json(given) else told) from None


class Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with our_words(args):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # Typer keeps its context's class private
        output = ctx.params.get("output", Output.TABLE)
        try:
            _command.set(command := ctx.command_path.partition(" ")[2])
            _refuse_server(command)
            refuse_references(ctx.params)
            return super().invoke(ctx)
        except MainspringError as fault:
            show_error(_named(fault), output)
            raise typer.Exit(exit_code_of(fault)) from None
        except BrokenPipeError:
            raise  # the reader closed the pipe; Typer exits quietly
        except OSError as fault:
            refusal = _unusable(fault)
            show_error(refusal, output)
            raise typer.Exit(EXIT_CODE_OF[type(refusal)]) from None
        except UnicodeError:
            show_error(InvalidInput("a given text is not UTF-8; write it as UTF-8", field=""), output)
            raise typer.Exit(EXIT_CODE_OF[InvalidInput]) from None
        except (LookupError, TypeError, AttributeError) as fault:
            if not (server := server_in_use()):
                raise  # internal error
            from mainspring.cli.remote import misunderstood

            show_error(misunderstood(server, f"{type(fault).__name__}: {fault}"), output)
            raise typer.Exit(EXIT_CODE_OF[InvalidInput]) from None
        except OverflowError:
            show_error(InvalidInput("a given number is too large; give a smaller one", field=""), output)
            raise typer.Exit(EXIT_CODE_OF[InvalidInput]) from None


_command: ContextVar[str] = ContextVar("command", default="")  # the running one: `endpoint list`
_server: ContextVar[str] = ContextVar("server", default="")  # "": the database of this environment


def use_server(server: str | None) -> None:
    _server.set(server or "")


def server_in_use() -> str:
    """The server that this command works through; "": none."""
    return _server.get().rstrip("/")


def _refuse_server(command: str) -> None:
    if (server := _server.get()) and (why := HERE.get(command)):
        raise InvalidInput(
            f"`mainspring {command}` does not work through the server {server!r}: {why}; remove --server "
            "and MAINSPRING_SERVER and run it there",
            field="server",
        )


def ask(
    work: Callable[["Desk"], Awaitable[T]],
    remotely: Callable[["Client"], T] | None = None,
    *,
    for_all: bool = False,
    only_reads: bool = False,
    must_exist: bool = False,
) -> T:
    """Opens this environment's database, lets `work` use it as the configured tenant, and closes it.

    With `--server`, `remotely` works through that server's API; a command without it is refused. `for_all` works even
    if the configured tenant does not exist. `only_reads`, for the commands in READS, creates no database: if none
    exists, `work` gets an empty one, or NoDatabase is raised with `must_exist`.
    """
    if server := _server.get():
        from mainspring.cli.remote import ask_server

        if remotely is None:
            raise InvalidInput(
                f"this command works on a database, not through the server {server!r}; remove --server and "
                "MAINSPRING_SERVER and run it on the database host",
                field="server",
            )
        return ask_server(server, remotely, "" if for_all else os.environ.get("MAINSPRING_TENANT", ""))
    from mainspring.wiring.desk import open_desk

    async def at_the_desk(settings: "Settings", create: bool) -> T:
        async with open_desk(settings, for_all=for_all, create=create) as desk:
            return await work(desk)

    settings = current_settings()
    try:
        return complete(at_the_desk(settings, not only_reads and _command.get() not in READS))
    except NoDatabase as fault:
        if must_exist:
            raise
        with empty_database(settings) as empty:
            found = complete(at_the_desk(empty, True))
        note(f"{fault}; the output is empty; MAINSPRING_DATA_DIR and MAINSPRING_DATABASE_URL select another database")
        return found


def ask_for(
    view: ViewType[S, T],
    work: Callable[["Desk"], Awaitable[S]],
    remotely: Callable[["Client"], object],
    *,
    for_all: bool = False,
) -> T:
    """The view of what `work` finds in the database, or of the JSON that `remotely` gets from the server."""

    async def here(desk: "Desk") -> T:
        return view.of(await work(desk))

    return ask(here, lambda client: view.model_validate(remotely(client)), for_all=for_all)


def ask_for_all(
    view: ViewType[S, T],
    work: Callable[["Desk"], Awaitable[Iterable[S]]],
    remotely: Callable[["Client"], Iterable[object]],
    *,
    for_all: bool = False,
) -> list[T]:
    async def here(desk: "Desk") -> list[T]:
        return [view.of(each) for each in await work(desk)]

    return ask(here, lambda client: [view.model_validate(each) for each in remotely(client)], for_all=for_all)


@contextmanager
def empty_database(settings: "Settings") -> Iterator["Settings"]:
    """Settings of a temporary, empty database."""
    from base64 import b64encode
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="mainspring-") as folder:
        given = {"database_url": f"sqlite://{folder}/empty.db", "secret_key": b64encode(os.urandom(32)).decode()}
        yield settings.model_copy(update=given)


def decide(here: Callable[[], T], remotely: Callable[["Client"], T]) -> T:
    """For commands without a database: answered here, or by the server in use, whose settings then apply."""
    if server := _server.get():
        from mainspring.cli.remote import ask_server

        return ask_server(server, remotely, os.environ.get("MAINSPRING_TENANT", ""))
    return here()


def complete(work: Coroutine[object, object, T]) -> T:
    """Runs one command's work on a new event loop: uvloop's if available, otherwise asyncio's.

    uvloop saves the scheduler an eighth of its processor time per run; see docs/benchmarks.md.
    """
    import asyncio  # importing it takes 40 ms, which --help should not spend

    try:
        import uvloop
    except ImportError:  # no wheel for this platform
        return asyncio.run(work)
    return uvloop.run(work)


def current_settings() -> "Settings":
    from mainspring.settings import load_settings

    return load_settings()


def fail_unless(good: bool) -> None:
    """Exits with 1 if the command succeeded and its result is negative."""
    if not good:
        sys.stdout.flush()
        raise typer.Exit(1)


def _named(fault: MainspringError) -> MainspringError:
    """Names an unavailable database server, which may be the wrong one. The error of a file already names it."""
    if not isinstance(fault, StoreUnavailable) or _server.get():
        return fault
    from mainspring.cli.settings import masked

    url = current_settings().url
    if url.startswith("sqlite:"):
        return fault
    return StoreUnavailable(f"{fault}, or set MAINSPRING_DATABASE_URL, which is {masked(url)}")


def _unusable(fault: OSError) -> MainspringError:
    where, why = str(fault.filename or ""), fault.strerror or fault
    if not where:
        return InvalidInput(f"the system refused it: {why}; free space or grant permission, then try again", field="")
    if not _is_ours(where):
        return InvalidInput(f"cannot use {where}: {why}; check that it exists and is accessible", field="file")
    return Misconfigured(
        f"cannot use {where}: {why}; make it readable and writable, or set MAINSPRING_DATA_DIR to another directory",
        setting="MAINSPRING_DATA_DIR",
    )


def _is_ours(file: str) -> bool:
    """Whether the path is in the data directory, and not one that the command was given."""
    try:
        return Path(file).is_relative_to(current_settings().data_dir)
    except MainspringError:
        return True
