"""Which programs endpoints of kind `command` may run: the operator's list, `MAINSPRING_COMMANDS`. Pure.

    /usr/local/bin/backup = default, folder /srv/backup, user backup, env BACKUP_*; /opt/jobs/* = *

Each entry is a program, or every program directly in a folder, and who may use it: tenants (`*`: all), and the
folders, users and variables that a call may choose. Without an entry nothing runs. The rule that must not break: a
program runs only if an entry of this list allows it, regardless of the user and of stored data.
"""

import re
from fnmatch import fnmatchcase
from posixpath import dirname, normpath

from msgspec import Struct

SHELL = "/bin/sh"
_LOADED = re.compile(r"(?:LD|DYLD)_.*|GCONV_PATH|BASH_ENV|ENV|IFS|SHELLOPTS|PATH")  # these change what a program runs


class CommandEntry(Struct, frozen=True):
    program: str
    tenants: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The entry as written in the setting."""
        choices = (("folder", self.folders), ("user", self.users), ("env", self.variables))
        parts = [*self.tenants, *(f"{word} {value}" for word, values in choices for value in values)]
        return f"{self.program} = {', '.join(parts)}"

    def covers(self, program: str) -> bool:
        if self.program.endswith("/*"):
            return dirname(program) == self.program[:-2]
        return program == self.program


class CommandRequest(Struct, frozen=True):
    """The program, arguments, folder, user and variables of a call."""

    tenant_id: str
    program: str
    folder: str = ""
    user: str = ""
    variables: tuple[str, ...] = ()


class CommandPolicy(Struct, frozen=True):
    entries: tuple[CommandEntry, ...] = ()

    def __str__(self) -> str:
        return "; ".join(map(str, self.entries))

    def refusal(self, asked: CommandRequest) -> str | None:
        """Why the list does not allow the call, with what the operator can do; None if it does."""
        rule = "the operator lists programs, tenants and folders in MAINSPRING_COMMANDS"
        found = [each for each in self.entries if each.covers(asked.program)]
        if not found:
            return f"program {asked.program[:200]!r} is not allowed; {rule}"
        found = [each for each in found if asked.tenant_id in each.tenants or "*" in each.tenants]
        if not found:
            return f"program {asked.program[:200]!r} is not allowed for tenant {asked.tenant_id!r}; {rule}"
        reasons = [_refused_part(each, asked) for each in found]
        return None if None in reasons else f"{reasons[0]} for program {asked.program[:200]!r}; {rule}"


NO_COMMANDS = CommandPolicy()


def _refused_part(entry: CommandEntry, asked: CommandRequest) -> str | None:
    if asked.folder and not any(_is_within(asked.folder, each) for each in entry.folders):
        return f"folder {asked.folder[:200]!r} is not allowed"
    if asked.user and asked.user not in entry.users:
        return f"user {asked.user[:60]!r} is not allowed"
    for name in asked.variables:
        if _LOADED.fullmatch(name) or not any(fnmatchcase(name, each) for each in entry.variables):
            return f"variable {name[:60]!r} is not allowed"
    return None


def _is_within(folder: str, allowed: str) -> bool:
    return folder == allowed or folder.startswith(allowed.rstrip("/") + "/")


def parse_commands(text: str) -> CommandPolicy:
    """The list of a setting. Raises ValueError with the entry, the rule and an example."""
    return CommandPolicy(tuple(_entry(part) for part in text.split(";") if part.strip()))


def _entry(text: str) -> CommandEntry:
    program, mark, rest = (part.strip() for part in text.partition("="))
    example = "write it like /usr/local/bin/backup = default, folder /srv/backup"
    if not mark or not is_plain_path(program.removesuffix("/*") or "/"):
        raise ValueError(f"{text.strip()[:200]!r} is not a program and its tenants; {example}")
    found: dict[str, list[str]] = {"tenants": [], "folder": [], "user": [], "env": []}
    for part in rest.split(","):
        word, _, value = part.strip().partition(" ")
        if word in ("folder", "user", "env") and value.strip():
            found[word].append(value.strip())
        elif part.strip() and not value:
            found["tenants"].append(word)
        elif part.strip():
            raise ValueError(f"{part.strip()[:200]!r} is neither a tenant nor a folder, user or env; {example}")
    if not found["tenants"]:
        raise ValueError(f"{text.strip()[:200]!r} names no tenant; name some, or * for all; {example}")
    if bad := [each for each in found["folder"] if not is_plain_path(each)]:
        raise ValueError(f"folder {bad[0][:200]!r} is not an absolute path without . and ..; {example}")
    return CommandEntry(
        program, tuple(found["tenants"]), tuple(found["folder"]), tuple(found["user"]), tuple(found["env"])
    )


def is_plain_path(path: str) -> bool:
    """An absolute path in normal form: no `..`, no doubled slash, no NUL."""
    return path.startswith("/") and not path.startswith("//") and normpath(path) == path and "\0" not in path
