"""`mainspring settings`: every setting with its value, default and description. Secrets are never shown."""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from mainspring.cli.command import CommandApp, OutputOption, current_settings
from mainspring.cli.output import Output
from mainspring.cli.table import Column, show_list
from mainspring.domain.duration import format_duration
from mainspring.views.sentences import MASK

if TYPE_CHECKING:
    from mainspring.settings import Settings

SECRETS = ("secret_key", "model_key", "oidc_client_secret")
_PASSWORD = re.compile(r"([a-z][a-z0-9+]*://[^:@/]*):.*@", re.IGNORECASE | re.DOTALL)
_PASSWORD_PARAMETER = re.compile(r"((?:password|passwd|sslpassword|passfile)=)[^&\s]*", re.IGNORECASE)


app = CommandApp("The settings in use.")


@app.callback()
def config() -> None:
    """The settings in use."""


class SettingRow(NamedTuple):
    name: str
    value: str
    default: str
    meaning: str


def settings(output: OutputOption = Output.TABLE) -> None:
    """List every setting with its value, default and description.

    Settings are environment variables; secrets are masked.
    """
    rows = setting_rows(current_settings())
    columns = (
        Column("SETTING"),
        Column("VALUE", can_cut=True),
        Column("DEFAULT", can_cut=True),
        Column("MEANING", tail=True),
    )
    show_list(
        [row._asdict() for row in rows],
        output,
        columns,
        [(row.name, row.value or "-", row.default or "-", row.meaning) for row in rows],
        "",
    )


@app.command("show")
def show(
    origin: Annotated[bool, typer.Option("--origin", help="Also show where each value comes from.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show every setting with its value, secrets masked.

    With --origin, also where the value comes from: the environment, or the default.
    """
    import os

    rows = [
        {"name": row.name, "value": row.value}
        | ({"origin": "environment" if row.name in os.environ else "default"} if origin else {})
        for row in setting_rows(current_settings())
    ]
    columns = (Column("SETTING"), Column("VALUE", can_cut=True), *((Column("ORIGIN"),) if origin else ()))
    show_list(rows, output, columns, [tuple(value or "-" for value in row.values()) for row in rows], "")


def setting_rows(current: "Settings") -> list[SettingRow]:
    from mainspring.settings import PREFIX, Settings

    rows = []
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        value = getattr(current, name)
        if name == "database_url":
            value = current.url
        if name in SECRETS and value:
            value = MASK
        rows.append(SettingRow(PREFIX + name.upper(), written(value), written(default), field.description or ""))
    return rows


def written(value: object) -> str:
    """A setting as written in the environment; a password in it is masked."""
    from mainspring.domain.schedule.host_limit import HostLimit

    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        return format_duration(value // timedelta(milliseconds=1))
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, tuple) and any(isinstance(each, HostLimit) for each in value):
        return "; ".join(map(str, value))
    if isinstance(value, Iterable):
        return ",".join(sorted(masked(str(each)) for each in value))
    return str(value)


def masked(url: str) -> str:
    """A database URL without its password."""
    return _PASSWORD_PARAMETER.sub(rf"\1{MASK}", _PASSWORD.sub(rf"\1:{MASK}@", url))
