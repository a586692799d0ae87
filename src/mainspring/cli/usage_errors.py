"""Command-line errors in our words: the parser's own messages suggest no fix."""

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import IO, Any

from typer._click.exceptions import (  # Typer has no public names for them
    BadParameter,
    MissingParameter,
    NoSuchOption,
    UsageError,
)

from mainspring.cli.output import as_json
from mainspring.domain.errors import did_you_mean
from mainspring.domain.name import shown
from mainspring.domain.validation_message import one_of, validation_message

_CHOICE = re.compile(r"(?:Value error, )?'(.*)' is not one of (.*?)\.?", re.DOTALL)


class UsageInJson(UsageError):
    """The error as JSON, for programs."""

    def show(self, file: IO[Any] | None = None) -> None:
        error = {"code": "usage", "message": self.format_message(), "field": None}
        print(as_json({"error": error}), file=file or sys.stderr)


def wants_json(args: Sequence[str]) -> bool:
    """Whether `-o json` was requested, as far as an invalid command line shows."""
    pairs = {("-o", "json"), ("--output", "json")} & set(pairwise(args))
    return bool(pairs or {"-ojson", "--output=json"} & set(args))


def in_our_words(fault: UsageError, args: Sequence[str]) -> UsageError:
    match fault:
        case NoSuchOption():
            words = _unknown(fault, args)
        case MissingParameter():
            words = _missing(fault)
        case BadParameter():
            words = _unfit(fault)
        case _:
            return fault
    return UsageError(words, fault.ctx)


def unknown_command(fault: UsageError, name: str, known: tuple[str, ...]) -> UsageError:
    near = did_you_mean(name, known, same=()) or "; --help lists all commands"
    return UsageError(f"unknown command '{shown(name)}'{near}", fault.ctx)


def _unknown(fault: NoSuchOption, args: Sequence[str]) -> str:
    """Suggests the right place of an option, its positional form, or the nearest option."""
    wanted, ctx = fault.option_name, fault.ctx
    said = f"unknown option '{shown(wanted)}'"
    if ctx is None:
        return said
    path, _, rest = ctx.command_path.partition(" ")
    if ctx.parent is not None and wanted in _options(ctx.find_root().command):
        return f"{said} here: it goes before the command, as in '{path} {wanted} ... {rest}'"
    for names, command in (*_typed(ctx.command, args), *_below(ctx.command)):
        if wanted in _options(command):
            return f"{said} here: it goes after the command, as in '{ctx.command_path} {names} {wanted} ...'"
    arguments = [param for param in ctx.command.params if param.param_type_name == "argument"]
    for argument in arguments:
        if _is_about(argument, wanted.lstrip("-")):
            usage = " ".join(map(_metavar, arguments))
            return f"{said}: {_metavar(argument)} is positional, as in '{ctx.command_path} {usage}'"
    known = tuple(name.removeprefix("--") for name in _options(ctx.command) if name.startswith("--"))
    near = did_you_mean(wanted.lstrip("-"), known).replace("mean '", "mean '--")
    return said + (near or "; --help lists all options")


def _options(command: Any) -> list[str]:  # Typer gives its commands no public class
    return [name for param in command.params if param.param_type_name == "option" for name in param.opts]


def _typed(group: Any, args: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The command that the arguments lead to, with its names."""
    names: list[str] = []
    for word in args:
        if command := getattr(group, "commands", {}).get(word):
            names.append(word)
            group = command
    if names:
        yield " ".join(names), group


def _below(group: Any) -> Iterator[tuple[str, Any]]:
    """Every command of a group and its subgroups, with its names."""
    for name, command in getattr(group, "commands", {}).items():
        yield name, command
        yield from ((f"{name} {names}", each) for names, each in _below(command))


def _is_about(argument: Any, wanted: str) -> bool:
    """Whether an argument corresponds to an option of that name: by its name, or described as a name or an id."""
    is_named = wanted == _metavar(argument).lower()
    return is_named or (wanted in ("name", "id") and wanted in re.findall("[a-z]+", (argument.help or "").lower()))


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
    rule = validation_message(first["type"], first["msg"], first.get("ctx", {}), first["input"])
    return f"{_name(fault)} '{shown(first['input'])}' {rule}"


def _name(fault: BadParameter) -> str:
    """`--limit`, or `FILE` of an argument."""
    if fault.param is None:
        return "a value"
    if fault.param.param_type_name == "option":
        return max(fault.param.opts, key=len)
    return _metavar(fault.param)


def _metavar(argument: Any) -> str:
    return str(argument.metavar or argument.name).upper()
