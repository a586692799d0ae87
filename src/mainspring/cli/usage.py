"""What is wrong with a command line, in our words: the parser's own speak of inputs, and show no way out."""

import re
from typing import Any

from typer._click.exceptions import (  # Typer shows them and gives them no public name
    BadParameter,
    MissingParameter,
    NoSuchOption,
    UsageError,
)

from mainspring.domain.errors import did_you_mean
from mainspring.domain.misfit import misfit, one_of
from mainspring.domain.name import shown

_CHOICE = re.compile(r"(?:Value error, )?'(.*)' is not one of (.*?)\.?", re.DOTALL)


def in_our_words(fault: UsageError) -> UsageError:
    match fault:
        case NoSuchOption():
            words = _unknown(fault)
        case MissingParameter():
            words = _missing(fault)
        case BadParameter():
            words = _unfit(fault)
        case _:
            return fault
    return UsageError(words, fault.ctx)


def unknown_command(fault: UsageError, name: str, known: tuple[str, ...]) -> UsageError:
    near = did_you_mean(name, known) or "; --help lists those there are"
    return UsageError(f"there is no command '{shown(name)}'{near}", fault.ctx)


def _unknown(fault: NoSuchOption) -> str:
    options = [name for param in fault.ctx.command.params for name in param.opts] if fault.ctx else []
    known = tuple(name.removeprefix("--") for name in options if name.startswith("--"))
    near = did_you_mean(fault.option_name.lstrip("-"), known).replace("mean '", "mean '--")
    return f"there is no option '{shown(fault.option_name)}'{near or '; --help lists those there are'}"


def _missing(fault: MissingParameter) -> str:
    meaning = getattr(fault.param, "help", None)
    return f"{_name(fault)} is missing; it is: {meaning}" if meaning else f"{_name(fault)} is missing; give it"


def _unfit(fault: BadParameter) -> str:
    details: list[Any] = getattr(fault.__cause__, "errors", list)()  # pydantic's
    if choice := _CHOICE.fullmatch(fault.message):
        names = tuple(re.findall("'([^']*)'", choice[2]))
        return f"{_name(fault)} '{shown(choice[1])}' {one_of(choice[1], names)}"
    if not details:
        return f"{_name(fault)}: {fault.message}"
    first = details[0]
    rule = misfit(first["type"], first["msg"], first.get("ctx", {}), first["input"])
    return f"{_name(fault)} '{shown(first['input'])}' {rule}"


def _name(fault: BadParameter) -> str:
    """`--limit`, or `FILE` of an argument."""
    if fault.param is None:
        return "a value"
    if fault.param.param_type_name == "option":
        return max(fault.param.opts, key=len)
    return (fault.param.metavar or fault.param.name or "").rstrip(".").upper()
