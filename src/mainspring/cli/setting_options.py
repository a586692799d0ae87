"""Options for the settings of nouns, such as endpoints and alerts, made from their description in the domain.

A command of a `SettingsCommand` has an option for every setting of its noun and gets them in its context, by key; an
option that was not given is None. Text becomes numbers here. The domain decides what is refused, and the message.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from mainspring.cli.arguments import NO_VALUE, read_codes, read_instant, read_powers, read_text, refuse_references
from mainspring.cli.command import Command
from mainspring.domain.duration import DURATION_MS_MAX, IN, parse_duration_ms, read_delay
from mainspring.domain.errors import InvalidInput

if TYPE_CHECKING:
    from mainspring.domain.config_field import ConfigField

FROM_FILE = "@FILE reads a file, @- standard input."
# Added after a setting's sentence, where the command line takes more than the other interfaces do.
HINTS = {
    "body": "Text, @FILE, or @- for standard input.",
    "secret": FROM_FILE,
    "ca": FROM_FILE,
    "client_certificate": FROM_FILE,
    "client_key": FROM_FILE,
    "accept_codes": "Several as 200,404.",
    "exit_codes": "Several as 0,3.",
    "command": "Repeat it for each argument.",
    "answers": "Repeatable.",
    "advice": "Several as interval,run; or `all`, or `none`.",
    "kinds": "Several as failing,late; repeatable.",
    "retry_on": "Several as timeout,5xx.",
    "to": "Repeatable.",
    "dates": "Repeatable.",
    "weekdays": "Several as sat,sun.",
    "ics": FROM_FILE,
    "types": "Repeatable.",
}
NAMES = {"dates": "--date", "kinds": "--on", "types": "--type", "enabled": "--enable/--disable"}
METAVARS = {
    "at": "TIME",
    "dates": "DATE[..DATE] [LABEL]",
    "kinds": "KIND",
    "types": "EVENT",
    "to": "DESTINATION",
    "quiet": "HH:MM-HH:MM",
}


class SettingsCommand(Command):
    """The options are made when they are first read: the description needs an import that other commands avoid."""

    _own: list[Any]
    _all: list[Any] | None = None
    _made: ClassVar[list[Any] | None] = None

    @classmethod
    def settings(cls) -> "tuple[ConfigField, ...]":
        raise NotImplementedError

    @property
    def params(self) -> list[Any]:
        if self._all is None:
            self._all = [*self._own[:-1], *self._options(), *self._own[-1:]]  # --output is the last
        return self._all

    @params.setter
    def params(self, own: list[Any]) -> None:
        self._own, self._all = own, None

    def invoke(self, ctx: Any) -> Any:
        given = {option.name: ctx.params.pop(option.name) for option in self._options() if option.name in ctx.params}
        ctx.obj = {name.removesuffix("_"): value for name, value in given.items()}
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the options in sections: those of every kind, then those of some kinds."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                named = getattr(param, "rich_help_panel", None)
                title = named or ("Arguments" if param.param_type_name == "argument" else "Options")
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)

    @classmethod
    def _options(cls) -> list[Any]:
        if cls._made is None:

            def settings() -> None: ...

            described: Any = settings
            described.__signature__ = Signature(
                [
                    Parameter(_parameter(name), Parameter.KEYWORD_ONLY, default=None, annotation=_option(name, part))
                    for field in cls.settings()
                    for name, part in _single(field)
                ]
            )
            described.__annotations__ = {
                each.name: each.annotation for each in described.__signature__.parameters.values()
            }
            app = typer.Typer(add_completion=False)
            app.command()(described)
            cls._made = typer.main.get_command(app).params
        return cls._made


def _parameter(key: str) -> str:
    """`except_`: a key that is a word of Python cannot name a parameter."""
    return f"{key}_" if iskeyword(key) else key


class EndpointCommand(SettingsCommand):
    @classmethod
    def settings(cls) -> "tuple[ConfigField, ...]":
        from mainspring.domain.endpoint import SETTINGS

        return SETTINGS


class CallCommand(SettingsCommand):
    @classmethod
    def settings(cls) -> "tuple[ConfigField, ...]":
        from mainspring.domain.endpoint import CALL_FIELDS

        return CALL_FIELDS


class AlertCommand(SettingsCommand):
    @classmethod
    def settings(cls) -> "tuple[ConfigField, ...]":
        from mainspring.domain.notify.subscription import ALERT_FIELDS

        return tuple(field for field in ALERT_FIELDS if field.key != "name")


class MaintenanceCommand(SettingsCommand):
    @classmethod
    def settings(cls) -> "tuple[ConfigField, ...]":
        from mainspring.domain.schedule.maintenance import MAINTENANCE_FIELDS

        return tuple(field for field in MAINTENANCE_FIELDS if field.key != "name")


class WebhookCommand(SettingsCommand):
    @classmethod
    def settings(cls) -> "tuple[ConfigField, ...]":
        from mainspring.domain.notify.subscription import WEBHOOK_FIELDS

        return tuple(field for field in WEBHOOK_FIELDS if field.key not in ("name", "url"))


class CalendarCommand(SettingsCommand):
    @classmethod
    def settings(cls) -> "tuple[ConfigField, ...]":
        from mainspring.domain.calendar import CALENDAR_FIELDS

        return CALENDAR_FIELDS


class ConnectionCommand(SettingsCommand):
    @classmethod
    def settings(cls) -> "tuple[ConfigField, ...]":
        from mainspring.domain.connection import CONNECTION_FIELDS

        return tuple(field for field in CONNECTION_FIELDS if field.key != "base_url")


def read_settings(fields: "tuple[ConfigField, ...]", given: Mapping[str, object]) -> dict[str, object]:
    """The options that were given as values, by key."""
    refuse_references(given)
    by_option = {option: (field, part) for field in fields for option, part in _single(field)}
    found: dict[str, object] = {}
    for option, value in given.items():
        if value in (None, (), []):
            continue
        field, part = by_option[option]
        if field is part:
            found[field.key] = _read(field, value)
        else:
            group: dict[str, object] = found.setdefault(field.key, {})  # type: ignore[assignment]  # of this field alone
            group[part.key] = _read(part, value)
    return found


def _single(field: "ConfigField") -> "Iterator[tuple[str, ConfigField]]":
    """The options of a setting by name: one, or one for each field of a group, as `retry_delay`."""
    if not field.parts:
        yield field.key, field
    for part in field.parts:
        yield f"{field.key}_{part.key}", part


def as_sent(given: Mapping[str, object]) -> dict[str, Any]:
    """Values by key as the API takes them."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}


def _option(key: str, field: "ConfigField") -> Any:
    from mainspring.domain.config_field import FieldKind

    plain = f"--{key.replace('_', '-')}"
    name = NAMES.get(key, plain)
    sentence = field.sentence
    if key in HINTS:
        sentence = f"{sentence} {HINTS[key]}"
    if field.kind in (FieldKind.CHOICE, FieldKind.CHOICES):
        sentence = f"{sentence} One of: {', '.join(field.about.choices)}."
    type_: Any = str
    metavar = METAVARS.get(key)
    match field.kind:
        case FieldKind.SWITCH:
            type_, name = bool, name if name != plain else f"{plain}/--no-{plain[2:]}"
        case FieldKind.NUMBER:
            type_, metavar = int, field.about.unit.upper() or "N"
        case FieldKind.NUMBERS | FieldKind.CHOICES | FieldKind.TEXTS:
            type_, metavar = list[str], metavar or "LIST"
        case FieldKind.DURATION:
            metavar = "DURATION"
        case _:
            pass
    option = typer.Option(name, metavar=metavar, help=sentence, rich_help_panel=_panel(field))
    return Annotated[type_ | None, option]


def _panel(field: "ConfigField") -> str | None:
    """Options that not every kind of endpoint has are grouped by the kinds that have them."""
    from mainspring.domain.kinds.registry import KINDS

    if not field.kinds or len(field.kinds) == len(KINDS):
        return None
    return f"Options of kind {', '.join(field.kinds)}"


def _read(field: "ConfigField", value: Any) -> object:
    """What was typed as a value; `none` removes a duration, an empty text removes a text."""
    from mainspring.domain.config_field import FieldKind

    readers: dict[FieldKind, Callable[[list[str]], object]] = {
        FieldKind.NUMBERS: read_codes if field.key == "accept_codes" else partial(_numbers, field.key),
        FieldKind.CHOICES: read_powers if field.key == "advice" else _words,
        FieldKind.TEXTS: tuple,
    }
    if field.kind in readers:
        return readers[field.kind](list(value))
    if field.kind is FieldKind.DURATION:
        if field.is_nullable and value.strip().lower() in NO_VALUE:
            return None
        least = 0 if field.about.zero_is_none else field.about.least
        return parse_duration_ms(value, field=field.key, min_ms=least, max_ms=field.about.most or DURATION_MS_MAX)
    if field.kind is FieldKind.INSTANT:
        return read_delay(value, field=field.key) if value.startswith(IN) else read_instant(value, field.key)
    if field.about.is_payload:
        return read_text(value, f"--{field.key}")
    return None if value == "" and field.is_nullable else value


def _numbers(key: str, texts: list[str]) -> tuple[int, ...]:
    words = _words(texts)
    if bad := [each for each in words if not each.isascii() or not each.isdigit()]:
        raise InvalidInput(
            f"--{key.replace('_', '-')} {bad[0][:60]!r} is not a number; give whole numbers, several as 0,3", field=key
        )
    return tuple(int(each) for each in words)


def _words(texts: list[str]) -> tuple[str, ...]:
    return tuple(part.strip() for text in texts for part in text.split(","))
