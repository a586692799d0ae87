"""What `create_endpoint`, `edit_endpoint` and `check_endpoint` may be told, and how it becomes a definition.

What is not given stays as it is. What is refused, and with which words, is `domain/definition.py`'s to say.
"""

from typing import Annotated, Literal

from msgspec.structs import replace
from pydantic import Field

from mainspring.domain.definition import Definition
from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.endpoint import INTERVAL_MS_MAX
from mainspring.domain.run import Header
from mainspring.mcp.arguments import CallArguments, DryRun, Duration, EndpointName
from mainspring.mcp.tool import Arguments

Texts = Annotated[
    dict[str, str] | None, Field(description="Request headers by name.", examples=[{"Accept": "application/json"}])
]


class EndpointArguments(Arguments):
    description: Annotated[str | None, Field(description="What it is for, in plain words.")] = None
    job: Annotated[str | None, Field(description="The job (group) it belongs to; made if it is new.")] = None
    interval: Annotated[
        Duration | None, Field(description="Run at this interval; replaces cron. 30s, 5m, 1h30m.", examples=["5m"])
    ] = None
    cron: Annotated[
        str | None,
        Field(description="Run by this cron expression; replaces interval.", examples=["*/15 * * * *", "@daily"]),
    ] = None
    timezone: Annotated[str | None, Field(description="Zone of cron; UTC by default.", examples=["Europe/Berlin"])] = (
        None
    )
    method: Annotated[
        str | None, Field(description="GET (the default), HEAD, POST, PUT, PATCH, DELETE or OPTIONS.")
    ] = None
    headers: Texts = None
    secret_headers: Annotated[
        dict[str, str] | None, Field(description="Headers that are encrypted at rest and never shown again.")
    ] = None
    remove_headers: Annotated[list[str] | None, Field(description="Names of headers to send no longer.")] = None
    body: Annotated[str | None, Field(description="Request body; not with GET and HEAD. Empty: send none.")] = None
    timeout: Annotated[Duration | None, Field(description="Total deadline of a call; 30s by default.")] = None
    min_interval: Annotated[
        Duration | None, Field(description="Runs are at least this far apart, whatever hints say; 0: no limit.")
    ] = None
    max_interval: Annotated[
        Duration | None, Field(description="Runs are at most this far apart, whatever hints say; 0: no limit.")
    ] = None
    jitter: Annotated[Duration | None, Field(description="Move each run by up to this much.")] = None
    backoff: Annotated[
        str | None, Field(description="What failures do to the interval: default (doubles) or monitor.")
    ] = None
    misfire: Annotated[
        str | None, Field(description="What becomes of runs missed in a downtime: run_once, skip or catch_up.")
    ] = None
    catch_up_max: Annotated[int | None, Field(description="With catch_up: at most this many.")] = None
    max_lateness: Annotated[Duration | None, Field(description="A run later than this is missed.")] = None
    on_lost_worker: Annotated[
        str | None, Field(description="When a worker dies in a run: retry (at least once) or skip (at most once).")
    ] = None
    body_cap: Annotated[int | None, Field(description="How many bytes of a response are kept.")] = None
    redirects_max: Annotated[int | None, Field(description="Follow at most this many redirects, up to 5.")] = None
    accept_codes: Annotated[
        list[int] | None, Field(description="Status codes that are a success; empty: any 2xx.", examples=[[200, 404]])
    ] = None
    advice: Annotated[
        list[Literal["interval", "run", "wake", "pause", "siblings"]] | None,
        Field(description="What rules, workflows and the model may do: all by default; empty: nothing."),
    ] = None
    condition: Annotated[
        str | None,
        Field(
            description="CEL over status_code, headers, body and duration_ms that must hold; empty: none.",
            examples=["status_code == 200 && body.depth < 100"],
        ),
    ] = None
    spread: Annotated[bool | None, Field(description="Start at the endpoint's own phase of its interval.")] = None


class CreateEndpoint(EndpointArguments):
    name: Annotated[str, Field(description="Its name, unique in the tenant.", examples=["health"])]
    url: Annotated[str, Field(description="What to call.", examples=["https://example.com/health"])]
    dry_run: DryRun = False


class EditEndpoint(EndpointArguments):
    endpoint: EndpointName
    name: Annotated[str | None, Field(description="A new name.")] = None
    url: Annotated[str | None, Field(description="What to call.")] = None
    dry_run: DryRun = False


class CheckEndpoint(EndpointArguments, CallArguments):
    url: Annotated[str, Field(description="What to call.", examples=["https://example.com/health"])]


DURATIONS = {
    "interval": "interval_ms",
    "timeout": "timeout_ms",
    "min_interval": "min_interval_ms",
    "max_interval": "max_interval_ms",
    "jitter": "jitter_ms",
    "max_lateness": "max_lateness_ms",
}
AS_GIVEN = (
    "name url description job cron timezone method body backoff misfire catch_up_max on_lost_worker body_cap "
    "redirects_max condition spread"
).split()


def apply_arguments(definition: Definition, wanted: EndpointArguments) -> Definition:
    given = wanted.model_dump(exclude_none=True)
    fields: dict[str, object] = {name: given[name] for name in AS_GIVEN if name in given}
    for name, field in DURATIONS.items():
        if name in given:
            fields[field] = parse_duration_ms(given[name], field=name, min_ms=0, max_ms=INTERVAL_MS_MAX)
    if "interval_ms" in fields and "cron" not in fields:
        fields["cron"] = None
    if "cron" in fields and "interval_ms" not in fields:
        fields["interval_ms"] = None
    for name in ("body", "condition"):
        if fields.get(name) == "":
            fields[name] = None
    if "advice" in given:
        fields["advice"] = tuple(given["advice"])
    if "accept_codes" in given:
        fields["accept_codes"] = tuple(dict.fromkeys(given["accept_codes"]))
    fields["headers"] = _headers(definition, wanted)
    return replace(definition, **fields)


def _headers(definition: Definition, wanted: EndpointArguments) -> tuple[Header, ...]:
    """One header a name: what is given replaces what was there, in its place; what is removed is left out."""
    headers = {header.name.lower(): header for header in definition.headers}
    for name in wanted.remove_headers or []:
        headers.pop(name.strip().lower(), None)
    for given, secret in ((wanted.headers, False), (wanted.secret_headers, True)):
        for name, value in (given or {}).items():
            headers[name.strip().lower()] = Header(name.strip(), value.strip(" \t"), secret)
    return tuple(headers.values())
