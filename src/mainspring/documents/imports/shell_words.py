"""Split a command line as a shell would, as far as that is possible without running one."""

import re
import shlex

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_SPECIAL = re.compile(r"([\\'\"])")


class CannotExpand(Exception):
    """The text can only be expanded by a shell."""


def split_words(command: str, variables: dict[str, str]) -> list[str]:
    """The words of a command. Raises ValueError if its quotes do not match, and CannotExpand."""
    return shlex.split(_expanded(command, variables))


def _expanded(command: str, variables: dict[str, str]) -> str:
    """The command with its variables replaced, outside of single quotes, and without its trailing comment."""
    parts: list[str] = []
    quote = ""
    place = 0
    while place < len(command):
        letter = command[place]
        if letter == "\\" and quote != "'":
            parts.append(command[place : place + 2])
            place += 2
            continue
        if letter == "#" and not quote and (place == 0 or command[place - 1] in " \t;"):
            break
        if letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        elif quote != "'" and (letter == "`" or command.startswith("$(", place)):
            raise CannotExpand("it uses the output of another command, and no shell runs here")
        elif quote != "'" and (found := _VARIABLE.match(command, place)):
            parts.append(_value(found[1] or found[2], variables, quote))
            place = found.end()
            continue
        parts.append(letter)
        place += 1
    return "".join(parts)


def _value(name: str, variables: dict[str, str], quote: str) -> str:
    """A variable's value, quoted so that its own quotes are text. Unquoted, it may be several words."""
    if name not in variables:
        raise CannotExpand(f"it uses ${name}, whose value is not set here")
    return re.sub(r'([\\"])', r"\\\1", variables[name]) if quote else _SPECIAL.sub(r"\\\1", variables[name])
