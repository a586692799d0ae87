"""`mainspring tenant ...`: the tenant (MAINSPRING_TENANT) and its quotas."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.cli.arguments import NO_VALUE, read_quota
from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for, ask_for_all
from mainspring.cli.output import Output, show_json
from mainspring.cli.table import Column, show_fields, show_list
from mainspring.domain.duration import format_duration, parse_duration_ms
from mainspring.domain.errors import InvalidInput

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.views.account import TenantView

app = CommandApp("The tenant (MAINSPRING_TENANT) and its quotas.")


@app.command("show")
def show(output: OutputOption = Output.TABLE) -> None:
    """Show the quotas and the usage of this month."""
    from mainspring.operations.tenants import find_tenant
    from mainspring.views.account import TenantView

    async def work(desk: "Desk") -> "TenantView":
        return TenantView.of(await find_tenant(desk))

    _show(ask(work, _own), output)


@app.command("list")
def list_tenants(output: OutputOption = Output.TABLE) -> None:
    """List every tenant of the installation."""
    from mainspring.views.account import TenantView

    tenants = ask_for_all(
        TenantView,
        lambda desk: desk.stores.accounts.tenants(),
        lambda client: client.tenants.list()["items"],
        for_all=True,
    )
    rows = [(tenant.id, tenant.name, f"{tenant.runs_this_month:,}") for tenant in tenants]
    show_list(
        tenants,
        output,
        (Column("TENANT"), Column("NAME", can_cut=True), Column("RUNS THIS MONTH")),
        rows,
        "No tenants.",
    )


@app.command("create")
def create(
    tenant_id: Annotated[
        str, typer.Argument(metavar="ID", help="1 to 63 of a-z, 0-9 and -; set it as MAINSPRING_TENANT.")
    ],
    name: Annotated[str, typer.Option("--name", help="Name of the tenant; default: its id.")] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a tenant, which is isolated from the others."""
    from mainspring.operations.tenants import add_tenant
    from mainspring.views.account import TenantView

    tenant = ask_for(
        TenantView,
        lambda desk: add_tenant(desk, tenant_id, name),
        lambda client: client.tenants.create(id=tenant_id, name=name),
        for_all=True,
    )
    _show(tenant, output)


@app.command("set")
def set_quotas(
    runs_per_month: Annotated[
        str | None, typer.Option("--runs-per-month", metavar="N", help="Runs per month; none for no limit.")
    ] = None,
    tokens_per_month: Annotated[
        str | None, typer.Option("--tokens-per-month", metavar="N", help="Model tokens per month; none for no limit.")
    ] = None,
    endpoints_max: Annotated[
        str | None, typer.Option("--endpoints-max", metavar="N", help="Number of endpoints; none for no limit.")
    ] = None,
    interval_min: Annotated[
        str | None, typer.Option("--interval-min", metavar="DURATION", help="Minimum interval; none for no limit.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change the given quotas.

    Endpoints that waited for a quota run again if the new one allows it.
    """
    from msgspec.structs import replace

    from mainspring.operations.tenants import set_quotas as change_quotas
    from mainspring.views.account import TenantView

    given = {
        "runs_per_month": runs_per_month,
        "tokens_per_month": tokens_per_month,
        "endpoints_max": endpoints_max,
    }
    wanted: dict[str, Any] = {name: read_quota(text, name) for name, text in given.items() if text is not None}
    if interval_min is not None:
        wanted["interval_ms_min"] = _interval(interval_min)
    if not wanted:
        raise InvalidInput("no quota was given; name one, for example --runs-per-month 100000", field="quota")

    async def work(desk: "Desk") -> "TenantView":
        return TenantView.of(await change_quotas(desk, lambda tenant: replace(tenant, **wanted)))

    def remotely(client: "Client") -> "TenantView":
        client.tenant.update_quotas(**wanted)
        return _own(client)

    _show(ask(work, remotely), output)


def _own(client: "Client") -> "TenantView":
    from mainspring.views.account import TenantView, Usage

    return TenantView.of_usage(Usage.model_validate(client.tenant.read_usage()))


def _interval(text: str) -> int | None:
    return None if text.strip().lower() in (*NO_VALUE, "0") else parse_duration_ms(text, field="interval_min")


def _show(tenant: "TenantView", output: Output) -> None:
    if output is Output.JSON:
        show_json(tenant)
        return
    least = tenant.interval_ms_min
    show_fields(
        [
            ("tenant", tenant.id),
            ("runs per month", f"{_quota(tenant.runs_per_month)}, {tenant.runs_this_month:,} used this month"),
            ("tokens per month", _quota(tenant.tokens_per_month)),
            ("endpoints at most", _quota(tenant.endpoints_max)),
            ("interval at least", "no limit" if least is None else format_duration(least)),
            ("signing keys", str(tenant.signing_keys)),
        ]
    )


def _quota(value: int | None) -> str:
    return "no limit" if value is None else f"{value:,}"
