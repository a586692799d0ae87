"""The options of `endpoint add` and `endpoint edit` besides the settings, and the configuration that they make."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.arguments import read_header, read_variable
from mainspring.cli.setting_options import read_settings
from mainspring.domain.errors import InvalidInput
from mainspring.domain.name import shown

if TYPE_CHECKING:
    from mainspring.domain.endpoint import EndpointConfig
    from mainspring.domain.run import Header

Texts = list[str] | None

NewName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the new endpoint, unique in the tenant.")]
Url = Annotated[str | None, typer.Option("--url", help="What to call: http:// or https://.")]
Rename = Annotated[str | None, typer.Option("--name", help="New name.")]
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
DropHeaders = Annotated[Texts, typer.Option("--remove-header", metavar="K", help="Remove this header; repeatable.")]
Variables = Annotated[
    Texts,
    typer.Option(
        "--env",
        metavar="K=V",
        help="An environment variable of kind command; ${env:NAME} and ${file:/path} are read here. Repeatable.",
    ),
]
SecretVariables = Annotated[
    Texts,
    typer.Option(
        "--secret-env", metavar="K=V", help="A variable that is encrypted at rest and never shown again. Repeatable."
    ),
]
DropVariables = Annotated[Texts, typer.Option("--remove-env", metavar="K", help="Remove this variable; repeatable.")]
DropBody = Annotated[bool, typer.Option("--no-body", help="Remove the body.")]


@dataclass(frozen=True)  # not a Struct: the command line starts without msgspec
class GivenOptions:
    """The options of a command; `settings` are by key, None if an option was not given."""

    settings: Mapping[str, object]
    name: str | None = None
    url: str | None = None
    header: Texts = None
    secret_header: Texts = None
    remove_header: Texts = None
    no_body: bool = False
    env: Texts = None
    secret_env: Texts = None
    remove_env: Texts = None


def new_endpoint(name: str, given: GivenOptions) -> "EndpointConfig":
    from mainspring.domain.endpoint import new_config

    _refuse_idle_zone(None, given.settings)
    return new_config(name, _inputs(given, ()))


def apply_options(config: "EndpointConfig", given: GivenOptions) -> "EndpointConfig":
    """The configuration with the given options."""
    from mainspring.domain.endpoint import with_inputs
    from mainspring.domain.kinds.registry import kind_of

    _refuse_idle_zone(config, given.settings)
    return with_inputs(config, _inputs(given, kind_of(config.action).pairs_of(config.action)))


def _inputs(given: GivenOptions, stored: "tuple[Header, ...]") -> dict[str, object]:
    from mainspring.domain.endpoint import CONFIG_FIELDS

    inputs = read_settings(CONFIG_FIELDS, given.settings)
    inputs |= {key: value for key, value in (("name", given.name), ("url", given.url)) if value is not None}
    if given.no_body:
        inputs["body"] = None
    if given.header or given.secret_header or given.remove_header:
        inputs["headers"] = _headers(stored, given)
    if given.env or given.secret_env or given.remove_env:
        inputs["environment"] = _variables(stored, given)
    return inputs


def _variables(stored: "tuple[Header, ...]", given: GivenOptions) -> tuple["Header", ...]:
    variables = {each.name: each for each in stored if each.name not in (given.remove_env or ())}
    for texts, is_secret in ((given.env, False), (given.secret_env, True)):
        for text in texts or []:
            variable = read_variable(text, secret=is_secret)
            variables[variable.name] = variable
    return tuple(variables.values())


def _refuse_idle_zone(config: "EndpointConfig | None", settings: Mapping[str, object]) -> None:
    """A time zone has no effect on an interval: refuse it, because a cron expression was probably meant."""
    zone = settings.get("timezone")
    every, cron = settings.get("every") or settings.get("at"), settings.get("cron")
    was_cron = config is not None and config.cron is not None
    was_other = config is not None and (config.interval_ms is not None or config.once_at is not None)
    is_cron = cron is not None or (was_cron and every is None)
    if isinstance(zone, str) and not is_cron and (every is not None or was_other):
        raise InvalidInput(
            f"--timezone '{shown(zone)}' has no effect on an interval: a time zone belongs to a cron expression; leave "
            "--timezone out, or give --cron instead of --every",
            field="timezone",
            value=shown(zone),
        )


def _headers(stored: "tuple[Header, ...]", given: GivenOptions) -> tuple["Header", ...]:
    """One header for each name: a given header replaces the stored one, in its place."""
    headers = {header.name.lower(): header for header in stored}
    for name in given.remove_header or []:
        headers.pop(name.strip().rstrip(":").lower(), None)
    for texts, is_secret in ((given.header, False), (given.secret_header, True)):
        for text in texts or []:
            header = read_header(text, secret=is_secret)
            headers[header.name.lower()] = header
    return tuple(headers.values())
