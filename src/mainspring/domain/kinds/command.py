"""Kind `command`: run a program on the worker's machine, if the operator's list allows it."""

import re
import shlex
from typing import Annotated, ClassVar

from msgspec.structs import replace

from mainspring.domain.config_field import About
from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.placeholders import OPEN
from mainspring.domain.kinds.command_policy import SHELL, CommandRequest, is_plain_path
from mainspring.domain.kinds.kind import CallPolicy, Fact, Kind
from mainspring.domain.run import (
    BODY_CAP_DEFAULT,
    TIMEOUT_MS_DEFAULT,
    Action,
    BodyCap,
    Condition,
    Header,
    Literal,
    Timeout,
)

ARGUMENTS_MAX = 100
ARGUMENT_CHARS_MAX = 10_000
VARIABLES_MAX = 50
VALUE_CHARS_MAX = 10_000
SUMMARY_CHARS = 200
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")


class CommandRefused(InvalidInput):
    """The operator's list does not allow the program. Recorded in the audit trail."""


class CommandAction(Action, frozen=True, omit_defaults=True, tag_field="kind", tag="command"):
    """A program with its arguments, and where and as whom it runs."""

    command: Annotated[
        tuple[str, ...],
        About(
            "Program, by its absolute path, and its arguments. With shell, one text.",
            most=ARGUMENTS_MAX,
            template="argument",
            examples=("/usr/local/bin/backup", "--full"),
        ),
    ]
    shell: Annotated[bool, About(f"Whether the text is run by {SHELL}, which must be allowed too.")] = False
    folder: Annotated[str | None, About("Working folder. Default: /.", examples=("/srv/backup",))] = None
    user: Annotated[str | None, About("User to run as. Default: the worker's own.", examples=("backup",))] = None
    environment: Annotated[tuple[Header, ...], About("Environment variables.", template="argument")] = ()
    exit_codes: Annotated[
        tuple[int, ...], About("Exit codes that are a success. Empty: 0.", most=255, examples=(0, 3))
    ] = ()
    timeout_ms: Timeout = TIMEOUT_MS_DEFAULT
    body_cap: BodyCap = BODY_CAP_DEFAULT
    condition: Condition = None
    literal: Literal = False
    templated: bool = False


class CommandKind(Kind[CommandAction]):
    name = "command"
    about = "Runs a program on the worker's machine, if the operator allows it."
    action = CommandAction
    has_status_code = True
    status_label = "exit code"
    pairs = "environment"
    pair = "variable"
    searched = ("command",)
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact("status_code", "Exit code; 128 and the number of the signal if a signal ended the program."),
        Fact("body", "Standard output, if it is JSON."),
        Fact("headers.stderr", "The end of standard error."),
    )

    def check(self, action: CommandAction, policy: CallPolicy) -> CommandAction:
        _check_arguments(action)
        for variable in action.environment:
            _check_variable(variable)
        if len(action.environment) > VARIABLES_MAX:
            raise InvalidInput(
                f"{len(action.environment)} variables are given; at most {VARIABLES_MAX} are allowed; remove some",
                field="environment",
            )
        folder, user = action.folder or None, action.user or None
        if folder is not None and not is_plain_path(folder):
            raise InvalidInput(
                f"folder {folder[:200]!r} is not an absolute path without . and ..; correct it",
                field="folder",
                value=folder[:200],
            )
        if user is not None and not _USER.fullmatch(user):
            raise InvalidInput(f"user {user[:60]!r} is not a user name; correct it", field="user", value=user[:60])
        checked = replace(action, folder=folder, user=user)
        if (reason := policy.commands.refusal(request_of(checked, policy.tenant_id))) is not None:
            raise CommandRefused(reason, field="command", value=program_of(checked)[:200])
        return checked

    def summary(self, action: CommandAction) -> str:
        text = action.command[0] if action.shell else shlex.join(action.command)
        line = f"{'sh: ' if action.shell else ''}{' '.join(text.split())}"
        return line if len(line) <= SUMMARY_CHARS else f"{line[:SUMMARY_CHARS]}…"

    def origin(self, action: CommandAction) -> str:
        """The exact command that its secrets were given to: with other arguments the program might print them."""
        return f"{shlex.join(arguments_of(action))} in {action.folder or '/'} as {action.user or 'the worker'}"


def program_of(action: CommandAction) -> str:
    return SHELL if action.shell else action.command[0]


def arguments_of(action: CommandAction) -> list[str]:
    """The program and its arguments as executed."""
    return [SHELL, "-c", action.command[0]] if action.shell else list(action.command)


def request_of(action: CommandAction, tenant_id: str) -> CommandRequest:
    names = tuple(each.name for each in action.environment)
    return CommandRequest(tenant_id, program_of(action), action.folder or "", action.user or "", names)


def _check_arguments(action: CommandAction) -> None:
    given = action.command
    if not given or (action.shell and len(given) != 1):
        rule = "with shell, it is one text" if action.shell else "it is a program and its arguments"
        raise InvalidInput(f"command has {len(given)} parts; {rule}; correct it", field="command")
    if len(given) > ARGUMENTS_MAX or any(len(each) > ARGUMENT_CHARS_MAX or "\0" in each for each in given):
        raise InvalidInput(
            f"command has more than {ARGUMENTS_MAX} parts, or one with NUL or more than {ARGUMENT_CHARS_MAX:,} "
            "characters; shorten it",
            field="command",
        )
    if OPEN in given[0] and not action.literal:
        raise InvalidInput(
            "command has a template in the text of the shell, where a value could become a command; put the template "
            "into a variable of environment and read that, or set literal to run the text as it is"
            if action.shell
            else "command has a template in its program, which is fixed; use templates in arguments",
            field="command",
        )
    if not action.shell and not is_plain_path(given[0]):
        raise InvalidInput(
            f"program {given[0][:200]!r} is not an absolute path without . and ..; write it like /usr/local/bin/backup",
            field="command",
            value=given[0][:200],
        )


def _check_variable(variable: Header) -> None:
    if not _VARIABLE.fullmatch(variable.name):
        raise InvalidInput(
            f"variable {variable.name[:60]!r} is not a name; use letters, digits and _",
            field="environment",
            value=variable.name[:60],
        )
    if "\0" in variable.value or len(variable.value) > VALUE_CHARS_MAX:
        raise InvalidInput(
            f"variable {variable.name!r} has NUL or more than {VALUE_CHARS_MAX:,} characters; shorten its value",
            field="environment",
            value=variable.name,
        )
