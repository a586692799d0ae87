"""Turn a command line of cron into an endpoint of kind `command`, with the variables that cron would set."""

import re
import shlex
from pathlib import PurePath

from mainspring.documents.imports.takeover import Entry, NotTaken, Takeover
from mainspring.documents.references import escaped
from mainspring.domain.duration import format_duration
from mainspring.domain.kinds.command_policy import SHELL, CommandEntry
from mainspring.domain.kinds.http import speaks_of_a_secret
from mainspring.domain.run import TIMEOUT_MS_MAX

TIMEOUT = format_duration(TIMEOUT_MS_MAX)
# Set by cron for itself, or never allowed for a command because they change what it loads.
NOT_PASSED_ON = frozenset("MAILTO MAILFROM SHELL TZ CRON_TZ LOGNAME USER HOME PATH ENV BASH_ENV IFS".split())
_SHELL_SYNTAX = re.compile(r"[|&;<>()$`*?\[\]{}~#\\!\n]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.+)", re.DOTALL)
# The name of an option, a variable or a header, before a value that is neither a variable nor a path.
_NAMED_VALUE = re.compile(
    r"(?:--?([A-Za-z][\w-]*)(?:=|\s+)|\b([A-Za-z_]\w*)=|\b([A-Za-z][\w-]*):\s*)(?=['\"]?[^$/\s'\"-])"
)
_PASSWORDS = {
    "a password in a URL": re.compile(r"://[^/\s@:]+:[^/\s@]+@"),
    "-p of mysql": re.compile(r"\bmysql\w*\b.*\s-p\S"),
    "-u with a password": re.compile(r"\s(?:-u\s*|--user[= ]\s*)['\"]?[^\s:$]+:\S"),
}
_WRAPPERS = frozenset("nice ionice flock chronic env sudo timeout nohup time exec setsid".split())
_RUNNERS = re.compile(r"(?:python|bash|sh|dash|zsh|php|perl|ruby|node|java)[\d.]*")


def command_entry(taken: Takeover, command: str, variables: dict[str, str], user: str) -> Entry:
    """The command as a list, or for /bin/sh if only a shell understands it. Raises NotTaken."""
    if (shown := _secret_argument(command)) is not None:
        raise NotTaken(
            f"its arguments have what looks like a secret ({shown}), and a document shows arguments; set it as a "
            "variable in the crontab, which becomes a reference, or import the line as a heartbeat"
        )
    entry: Entry = {"command": [command], "shell": True} if needs_shell(command) else {"command": _words(command)}
    environment = {
        name: taken.reference(name, value) if speaks_of_a_secret(name) and value else escaped(value)
        for name, value in variables.items()
        if name not in NOT_PASSED_ON and not name.startswith(("LD_", "DYLD_"))
    }
    if environment:
        entry["environment"] = environment
    if user:
        entry["user"] = user
    program = SHELL if needs_shell(command) else _words(command)[0]
    allowed = CommandEntry(program, ("default",), users=(user,) if user else (), variables=tuple(environment))
    _note(
        taken,
        f'{program} runs only if the operator allows it in MAINSPRING_COMMANDS, for example "{allowed}"',
    )
    _note(taken, f"a command may run for {TIMEOUT}; import jobs that take longer with --commands heartbeat")
    return {**entry, "timeout": TIMEOUT}


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as fault:
        raise NotTaken(f"its quotes do not match ({fault})") from None


def needs_shell(command: str) -> bool:
    """Whether a shell must read the command; also if its program has no path, which a shell looks up."""
    return _SHELL_SYNTAX.search(command) is not None or not command.startswith("/")


def program_name(command: str) -> str:
    """The name for a command: the program or the script, without `cd`, assignments and wrappers."""
    words = [word.strip("'\"();") for word in re.split(r"\s+", command.strip())]
    while len(words) > 1:
        program = PurePath(words[0]).name
        if words[0] in ("cd", "test", "[") and "&&" in words:
            words = words[words.index("&&") + 1 :] or ["command"]
        elif _ASSIGNMENT.fullmatch(words[0]) or program in _WRAPPERS or words[0].startswith("-"):
            words = words[1:]
        elif _RUNNERS.fullmatch(program) and (scripts := [word for word in words[1:] if not word.startswith("-")]):
            return PurePath(scripts[0]).name
        elif re.fullmatch(r"\d+[smhd]?|/(?:tmp|run|var)/\S*lock\S*", words[0]):  # of timeout and flock
            words = words[1:]
        else:
            break
    return PurePath(words[0]).name or "command"


def _secret_argument(command: str) -> str | None:
    """The part of a command that names a secret, without its value."""
    for what, pattern in _PASSWORDS.items():
        if pattern.search(command):
            return what
    names = (found[1] or found[2] or found[3] for found in _NAMED_VALUE.finditer(command))
    return next((name for name in names if speaks_of_a_secret(name)), None)


def _note(taken: Takeover, remark: str) -> None:
    """Each remark about programs once, regardless of the number of lines."""
    if remark not in taken.remarks:
        taken.remarks.append(remark)
