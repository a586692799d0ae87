"""What `endpoint add` and `endpoint edit` take, and how it becomes an endpoint's configuration.

Both commands have an option for every setting, made from its description in `domain/endpoint.py`; an option that was
not given changes nothing. Here text only becomes numbers: what is refused, and with which message, is the domain's to
say.
"""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.cli.arguments import (
    NO_VALUE,
    read_codes,
    read_header,
    read_powers,
    read_text,
    refuse_references,
)
from mainspring.cli.command import Command
from mainspring.domain.duration import DURATION_MS_MAX, parse_duration_ms
from mainspring.domain.errors import InvalidInput
from mainspring.domain.name import shown

if TYPE_CHECKING:
    from mainspring.domain.config_field import ConfigField
    from mainspring.domain.endpoint import EndpointConfig
    from mainspring.domain.run import Header

Texts = list[str] | None

NewName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the new endpoint, unique in the tenant.")]
NewUrl = Annotated[str, typer.Option("--url", help="What to call: http:// or https://.")]
Url = Annotated[str | None, typer.Option("--url", help="What to call: http:// or https://.")]
Rename = Annotated[str | None, typer.Option("--name", help="A new name.")]
PlainHeaders = Annotated[
    Texts,
    typer.Option(
        "--header", metavar="'K: V'", help="A request header; ${env:NAME} and ${file:/path} are read here. Repeatable."
    ),
]
SecretHeaders = Annotated[
    Texts,
    typer.Option(
        "--secret-header",
        metavar="'K: V'",
        help="A header that is encrypted at rest and never shown again. On a terminal, 'K' alone asks for the value.",
    ),
]
DropHeaders = Annotated[
    Texts, typer.Option("--remove-header", metavar="K", help="Stop sending this header; may be given again.")
]
DropBody = Annotated[bool, typer.Option("--no-body", help="Send no body any more.")]

# What is written after a setting's sentence, where the command line takes more than the other doors.
HINTS = {
    "body": "Text, @FILE, or @- for standard input.",
    "accept_codes": "Several as 200,404.",
    "advice": "Several as interval,run; or `all`, or `none`.",
}


class EndpointCommand(Command):
    """A command with an option for every setting of an endpoint.

    The options are made when they are first asked for: the description costs an import that other commands do without.
    """

    _own: list[Any]
    _all: list[Any] | None = None

    @property
    def params(self) -> list[Any]:
        if self._all is None:
            self._all = [*self._own[:-1], *_options(), *self._own[-1:]]  # --output is the last
        return self._all

    @params.setter
    def params(self, own: list[Any]) -> None:
        self._own, self._all = own, None

    def invoke(self, ctx: Any) -> Any:
        """Settings go to the function in the context, by key: its signature has none of them."""
        ctx.obj = {option.name: ctx.params.pop(option.name) for option in _options() if option.name in ctx.params}
        return super().invoke(ctx)


_made: list[Any] = []


def _options() -> list[Any]:
    if not _made:
        from mainspring.domain.endpoint import SETTINGS

        def settings() -> None: ...

        parameters = [
            Parameter(field.key, Parameter.KEYWORD_ONLY, default=None, annotation=_option(field)) for field in SETTINGS
        ]
        described: Any = settings
        described.__signature__ = Signature(parameters)
        described.__annotations__ = {each.name: each.annotation for each in parameters}
        app = typer.Typer(add_completion=False)
        app.command()(described)
        _made.extend(typer.main.get_command(app).params)
    return _made


def _option(field: "ConfigField") -> Any:
    from mainspring.domain.config_field import FieldKind

    name = field.key.replace("_", "-")
    sentence = field.sentence
    if field.key in HINTS:
        sentence = f"{sentence} {HINTS[field.key]}"
    if field.kind in (FieldKind.CHOICE, FieldKind.CHOICES):
        sentence = f"{sentence} One of: {', '.join(field.about.choices)}."
    match field.kind:
        case FieldKind.SWITCH:
            return Annotated[bool | None, typer.Option(f"--{name}/--no-{name}", help=sentence)]
        case FieldKind.NUMBER:
            metavar = field.about.unit.upper() or "N"
            return Annotated[int | None, typer.Option(f"--{name}", metavar=metavar, help=sentence)]
        case FieldKind.NUMBERS | FieldKind.CHOICES:
            return Annotated[Texts, typer.Option(f"--{name}", metavar="LIST", help=sentence)]
        case FieldKind.DURATION:
            return Annotated[str | None, typer.Option(f"--{name}", metavar="DURATION", help=sentence)]
    return Annotated[str | None, typer.Option(f"--{name}", help=sentence)]


def apply_options(
    config: "EndpointConfig",
    settings: Mapping[str, object],
    *,
    name: str | None = None,
    url: str | None = None,
    header: Texts = None,
    secret_header: Texts = None,
    remove_header: Texts = None,
    no_body: bool = False,
) -> "EndpointConfig":
    """The configuration with what was given; `settings` are by key, None where an option was not given."""
    from mainspring.domain.endpoint import FIELD_BY_KEY, with_inputs

    refuse_references(settings)
    _refuse_idle_zone(config, settings)
    inputs = {key: _read(FIELD_BY_KEY[key], value) for key, value in settings.items() if value not in (None, (), [])}
    inputs |= {key: value for key, value in (("name", name), ("url", url)) if value is not None}
    if no_body:
        inputs["body"] = None
    return with_inputs(config, inputs | {"headers": _headers(config, header, secret_header, remove_header)})


def _read(field: "ConfigField", value: Any) -> object:
    """What was typed as a value; `none` takes a duration away, an empty text a text."""
    from mainspring.domain.config_field import FieldKind

    readers: dict[FieldKind, Callable[[list[str]], object]] = {
        FieldKind.NUMBERS: read_codes,
        FieldKind.CHOICES: read_powers,
    }
    if field.kind in readers:
        return readers[field.kind](list(value))
    if field.kind is FieldKind.DURATION:
        if field.is_nullable and value.strip().lower() in NO_VALUE:
            return None
        least = 0 if field.about.zero_is_none else field.about.least
        return parse_duration_ms(value, field=field.key, min_ms=least, max_ms=field.about.most or DURATION_MS_MAX)
    if field.about.is_payload:
        return read_text(value, f"--{field.key}")
    return None if value == "" and field.is_nullable else value


def _refuse_idle_zone(config: "EndpointConfig", settings: Mapping[str, object]) -> None:
    """A time zone has no effect on an interval: refuse it, because a cron expression was probably meant."""
    zone = settings.get("timezone")
    every, cron = settings.get("every"), settings.get("cron")
    is_cron = cron is not None or (config.cron is not None and every is None)
    if isinstance(zone, str) and not is_cron and (every is not None or config.interval_ms is not None):
        raise InvalidInput(
            f"--timezone '{shown(zone)}' has no effect on an interval: a time zone belongs to a cron expression; leave "
            "--timezone out, or give --cron instead of --every",
            field="timezone",
            value=shown(zone),
        )


def _headers(config: "EndpointConfig", plain: Texts, secret: Texts, removed: Texts) -> tuple["Header", ...]:
    """One header a name: what is given replaces what was there, in its place; what is removed is left out."""
    headers = {header.name.lower(): header for header in config.action.headers}
    for name in removed or []:
        headers.pop(name.strip().rstrip(":").lower(), None)
    for texts, is_secret in ((plain, False), (secret, True)):
        for text in texts or []:
            header = read_header(text, secret=is_secret)
            headers[header.name.lower()] = header
    return tuple(headers.values())
