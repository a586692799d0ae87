"""Tools about endpoints: read, create, change, remove, call."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Protocol

from pydantic import Field

from mainspring.domain.access.scope import Scope
from mainspring.domain.config_field import FieldKind
from mainspring.domain.endpoint import FIELD_BY_KEY, Endpoint, EndpointConfig, new_config, with_inputs
from mainspring.domain.errors import InvalidInput
from mainspring.domain.health import LONGEST, sum_up
from mainspring.domain.kinds.registry import kind_of
from mainspring.domain.name import shown
from mainspring.domain.run import Header, Outcome
from mainspring.domain.schedule.changes import Change
from mainspring.inputs.models import EndpointSettings
from mainspring.mcp.arguments import (
    LIST_DEFAULT,
    CallArguments,
    CallEndpoint,
    ChangeEndpoint,
    DryRun,
    Duration,
    EndpointName,
    Instant,
    Limit,
    OneEndpoint,
    Reason,
    RemoveEndpoint,
    read_duration,
    read_instant,
    refuse_both,
)
from mainspring.mcp.tool import Arguments, Toolbox, ToolCaller
from mainspring.mcp.untrusted import body_as_data, clipped, headers_as_data
from mainspring.operations import endpoints as operations
from mainspring.operations import pings
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint
from mainspring.operations.jobs import find_job
from mainspring.operations.runs import wait_for_requested_run
from mainspring.operations.test_run import check_endpoint as check
from mainspring.operations.test_run import test_endpoint as test
from mainspring.ports.endpoints import EndpointFilter
from mainspring.views.endpoint import (
    EndpointView,
    HealthWindow,
    OutcomeView,
    load_endpoint,
    load_templates,
    load_test_dry_run,
)
from mainspring.views.ping import PingUrlView
from mainspring.views.run import RunView
from mainspring.views.view import JsonObject

TEXT_MAX = 4_096  # a request body may have a million characters, and an assistant pays for each
NOT_A_CHANGE = ("version", "updated_at")


class EndpointChangeTarget(Protocol):
    @property
    def endpoint(self) -> str: ...

    @property
    def dry_run(self) -> bool: ...


async def act(visit: ToolCaller, wanted: EndpointChangeTarget, deed: Callable[[Desk], Awaitable[Change]]) -> JsonObject:
    desk = visit.desk_for(wanted.dry_run)
    before = await endpoint_as_json(desk, await find_endpoint(desk, wanted.endpoint))
    changed = (await deed(desk)).endpoint
    after = await endpoint_as_json(desk, changed)
    changes = {
        name: {"from": before[name], "to": value}
        for name, value in after.items()
        if before[name] != value and name not in NOT_A_CHANGE
    }
    told: JsonObject = {"dry_run": wanted.dry_run, "changes": changes, "endpoint": after}
    return told | (await _templates(desk, changed) if wanted.dry_run else {})


async def _templates(desk: Desk, endpoint: Endpoint) -> JsonObject:
    """The texts of the next run, if the endpoint has templates."""
    view = await load_templates(desk, endpoint)
    return {} if view is None else {"templates": view.as_json()}


async def endpoint_as_json(desk: Desk, endpoint: Endpoint) -> JsonObject:
    view = await load_endpoint(desk, endpoint)
    body = None if view.body is None else clipped(view.body, TEXT_MAX)
    return view.as_json() | {"body": body, "description": clipped(view.description, TEXT_MAX)}


Url = Annotated[
    str | None, Field(description="URL to call; required for kind http.", examples=["https://example.com/health"])
]


class EndpointArguments(EndpointSettings, Arguments):
    headers: Annotated[
        dict[str, str] | None, Field(description="Request headers by name.", examples=[{"Accept": "application/json"}])
    ] = None
    secret_headers: Annotated[
        dict[str, str] | None, Field(description="Headers that are encrypted at rest and never shown again.")
    ] = None
    remove_headers: Annotated[list[str] | None, Field(description="Names of headers to remove.")] = None
    environment: Annotated[
        dict[str, str] | None, Field(description="Environment variables of kind command, by name.")
    ] = None
    secret_environment: Annotated[
        dict[str, str] | None, Field(description="Variables that are encrypted at rest and never shown again.")
    ] = None
    remove_environment: Annotated[list[str] | None, Field(description="Names of variables to remove.")] = None


class CreateEndpoint(EndpointArguments):
    name: Annotated[str, Field(description="Name, unique in the tenant.", examples=["health"])]
    url: Url = None
    dry_run: DryRun = False


class EditEndpoint(EndpointArguments):
    endpoint: EndpointName
    name: Annotated[str | None, Field(description="New name.")] = None
    url: Annotated[str | None, Field(description="URL to call.")] = None
    dry_run: DryRun = False


class CheckEndpoint(EndpointArguments, CallArguments):
    url: Url = None


def apply_arguments(
    config: EndpointConfig, wanted: EndpointArguments, name: str | None = None, url: str | None = None
) -> EndpointConfig:
    return with_inputs(config, _inputs(wanted, kind_of(config.action).pairs_of(config.action), name, url))


def new_endpoint(wanted: CreateEndpoint | CheckEndpoint, name: str, **others: object) -> EndpointConfig:
    return new_config(name, others | _inputs(wanted, (), name, wanted.url))


def _inputs(
    wanted: EndpointArguments, stored: tuple[Header, ...], name: str | None, url: str | None
) -> dict[str, object]:
    given = wanted.sent() | {"name": name, "url": url}
    inputs = {key: _emptied(key, value) for key, value in given.items() if value is not None}
    if wanted.headers or wanted.secret_headers or wanted.remove_headers:
        inputs["headers"] = _headers(stored, wanted)
    if wanted.environment or wanted.secret_environment or wanted.remove_environment:
        variables = {each.name: each for each in stored if each.name not in (wanted.remove_environment or ())}
        for given_variables, secret in ((wanted.environment, False), (wanted.secret_environment, True)):
            variables |= {key: Header(key, value, secret) for key, value in (given_variables or {}).items()}
        inputs["environment"] = tuple(variables.values())
    return inputs


def _emptied(key: str, value: object) -> object:
    field = FIELD_BY_KEY[key]
    return None if value == "" and field.kind is FieldKind.TEXT and field.is_nullable else value


def _headers(stored: tuple[Header, ...], wanted: EndpointArguments) -> tuple[Header, ...]:
    """One header for each name: a given header replaces the stored one, in its place."""
    headers = {header.name.lower(): header for header in stored}
    for name in wanted.remove_headers or []:
        headers.pop(name.strip().lower(), None)
    for given, secret in ((wanted.headers, False), (wanted.secret_headers, True)):
        for name, value in (given or {}).items():
            headers[name.strip().lower()] = Header(name.strip(), value.strip(" \t"), secret)
    return tuple(headers.values())


SUMMARY = set(
    (
        "id name job status kind target cron interval_ms timezone next_run_at source running last_run_at last_status "
        "failure_count paused_until"
    ).split()
)

CHECKED_EVERY_MS = 60_000  # a call that is only checked needs a schedule too, and none was given
WAIT_S_MAX = 60  # an assistant that waits longer should ask for the run later

box = Toolbox()


class RunEndpoint(ChangeEndpoint):
    wait: Annotated[
        Duration,
        Field(description="Wait this long for the end of the run, at most 60s; 0: do not wait.", examples=["30s"]),
    ] = 0


class ListEndpoints(Arguments):
    job: Annotated[str | None, Field(description="Only endpoints of this job, by name or id.")] = None
    archived: Annotated[bool, Field(description="List archived endpoints instead.")] = False
    after: Annotated[str | None, Field(description="Next page: the `next` of the previous answer.")] = None
    limit: Limit = LIST_DEFAULT


@box.tool(Scope.READ, only_reads=True)
async def list_endpoints(visit: ToolCaller, wanted: ListEndpoints) -> JsonObject:
    """List endpoints by name, in short: status, schedule, next and last run. get_endpoint shows one in full."""
    desk = visit.desk
    job_id = (await find_job(desk, wanted.job)).id if wanted.job is not None else None
    last_id, _, last_name = (wanted.after or "").partition(" ")
    after = (last_name, last_id) if wanted.after else None
    page = EndpointFilter(job_id, wanted.archived, after, wanted.limit)
    found = await desk.stores.endpoints.endpoints(desk.tenant_id, page)
    now = await desk.stores.schedule.now()
    views = [EndpointView.of(endpoint, now) for endpoint in found]
    return {
        "endpoints": [view.model_dump(mode="json", include=SUMMARY) for view in views],
        "next": f"{found[-1].id} {found[-1].name}" if len(found) == wanted.limit else None,
    }


@box.tool(Scope.READ, only_reads=True)
async def get_endpoint(visit: ToolCaller, wanted: OneEndpoint) -> JsonObject:
    """Show one endpoint: what it calls, its schedule and limits, its hints, its state and its next run.

    `health` summarises its runs of the last hour, day, week and month.
    """
    desk = visit.desk
    endpoint = await find_endpoint(desk, wanted.endpoint)
    now = await desk.stores.schedule.now()
    results = await desk.stores.look.results(desk.tenant_id, endpoint.id, now - LONGEST)
    return {
        **await endpoint_as_json(desk, endpoint),
        "health": [HealthWindow.of(each).as_json() for each in sum_up(results, now)],
    }


@box.tool(Scope.WRITE)
async def create_endpoint(visit: ToolCaller, wanted: CreateEndpoint) -> JsonObject:
    """Create an endpoint: what to call, and either an interval or a cron expression. Its first run is planned at once.

    Kind `http`, the default, calls a URL; the other kinds have other fields. check_endpoint tries the call before
    anything is stored. Texts may have templates such as {{ date(slot.time, "Europe/Berlin") }}; with dry_run,
    `templates` shows them filled in for the first run.
    """
    desk = visit.desk_for(wanted.dry_run)
    endpoint = await operations.add_endpoint(desk, new_endpoint(wanted, wanted.name))
    told: JsonObject = {"dry_run": wanted.dry_run, "endpoint": await endpoint_as_json(desk, endpoint)}
    return told | (await _templates(desk, endpoint) if wanted.dry_run else {})


@box.tool(Scope.WRITE, repeats=True)
async def edit_endpoint(visit: ToolCaller, wanted: EditEndpoint) -> JsonObject:
    """Change the given settings of an endpoint and nothing else; the result lists the changes, including moved runs."""

    def edited(old: EndpointConfig) -> EndpointConfig:
        return apply_arguments(old, wanted, wanted.name, wanted.url)

    return await act(visit, wanted, lambda desk: operations.edit_endpoint(desk, wanted.endpoint, edited))


class PingUrlArguments(ChangeEndpoint):
    rotate: Annotated[bool, Field(description="true: replace the URL; the present one becomes invalid.")] = False
    revoke: Annotated[bool, Field(description="true: end the URL; pings are refused until another is created.")] = False


@box.tool(Scope.WRITE)
async def ping_url(visit: ToolCaller, wanted: PingUrlArguments) -> JsonObject:
    """Show the ping URL of a heartbeat; create it if it does not exist. Any program that has it can ping the endpoint.

    A job sends GET or POST to the URL when it has ended, to URL/start when it starts, and to URL/fail or URL/EXITCODE
    when it failed.
    """
    refuse_both(wanted.rotate or None, wanted.revoke or None, "rotate and revoke", "rotate")
    if wanted.dry_run:
        return PingUrlView.of(await pings.read_ping_url(visit.desk, wanted.endpoint), visit.desk.site).as_json()
    if wanted.revoke:
        endpoint = await pings.revoke_ping_url(visit.desk, wanted.endpoint)
        return PingUrlView(endpoint=endpoint.name, url=None, created_at=None).as_json()
    change = pings.rotate_ping_url if wanted.rotate else pings.show_ping_url
    return PingUrlView.of(await change(visit.desk, wanted.endpoint), visit.desk.site).as_json()


@box.tool(Scope.WRITE, destroys=True, repeats=True)
async def archive_endpoint(visit: ToolCaller, wanted: RemoveEndpoint) -> JsonObject:
    """Remove an endpoint from the schedule for good. Its runs remain, and its name is free again."""
    await _confirm(visit.desk, wanted, "take it out of the schedule for good")
    return await act(visit, wanted, lambda desk: operations.archive_endpoint(desk, wanted.endpoint))


@box.tool(Scope.WRITE, destroys=True)
async def delete_endpoint(visit: ToolCaller, wanted: RemoveEndpoint) -> JsonObject:
    """Delete an endpoint and all its runs. This cannot be undone; archive_endpoint keeps them."""
    await _confirm(visit.desk, wanted, "delete it with all its runs, without a way back")
    endpoint = await operations.delete_endpoint(visit.desk_for(wanted.dry_run), wanted.endpoint)
    return {"dry_run": wanted.dry_run, "deleted": {"id": endpoint.id, "name": endpoint.name}}


class PauseEndpoint(ChangeEndpoint):
    until: Annotated[Instant | None, Field(description="End of the pause; default: until resumed.")] = None
    duration: Annotated[Duration | None, Field(description="Length of the pause, instead of until.")] = None
    resume: Annotated[bool, Field(description="true: end its pause, or unpark a parked endpoint.")] = False
    reason: Reason = ""
    advice_may_resume: Annotated[
        bool, Field(description="true: rules, workflows and the model may end the pause; default: only a person may.")
    ] = False


@box.tool(Scope.RUN, repeats=True)
async def pause_endpoint(visit: ToolCaller, wanted: PauseEndpoint) -> JsonObject:
    """Stop an endpoint for a while, or until it is resumed; with `resume`, let it run again. Runs in flight end."""
    refuse_both(wanted.until, wanted.duration, "until and duration", "until")
    if wanted.resume:
        refuse_both(True, wanted.until or wanted.duration, "resume and an end of the pause", "resume")
        return await act(visit, wanted, lambda desk: operations.resume_endpoint(desk, wanted.endpoint))
    end = None if wanted.until is None else read_instant(wanted.until, "until")
    length = None if wanted.duration is None else read_duration(wanted.duration, "duration")
    return await act(
        visit,
        wanted,
        lambda desk: operations.pause_endpoint(
            desk,
            wanted.endpoint,
            lambda now: now + length if length else end,
            wanted.reason,
            advice_may_resume=wanted.advice_may_resume,
        ),
    )


@box.tool(Scope.RUN, repeats=True, calls_out=True)
async def run_endpoint(visit: ToolCaller, wanted: RunEndpoint) -> JsonObject:
    """Ask the scheduler to run an endpoint now. The schedule keeps its cadence; list_runs then shows the run.

    While the endpoint runs, one more run is queued; further requests join it. With `wait`, `run` has the result, or
    null if the run has not finished by then.
    """
    longest = min(read_duration(wanted.wait, "wait").total_seconds(), WAIT_S_MAX) if wanted.wait else 0
    requested: list[Endpoint] = []

    async def deed(desk: Desk) -> Change:
        change = await operations.run_endpoint(desk, wanted.endpoint)
        requested.append(change.endpoint)
        return change

    told = await act(visit, wanted, deed)
    if wanted.dry_run or not longest:
        return told
    try:
        async with asyncio.timeout(longest):
            run = await wait_for_requested_run(visit.desk, requested[0])
    except TimeoutError:
        return {**told, "run": None}
    return {**told, "run": RunView.of(run, requested[0].name).as_json()}


class TestEndpoint(CallEndpoint):
    dry_run: Annotated[
        bool, Field(description="true: call nothing; return the request, with its templates filled in.")
    ] = False


@box.tool(Scope.RUN, calls_out=True)
async def test_endpoint(visit: ToolCaller, wanted: TestEndpoint) -> JsonObject:
    """Call an endpoint once, right now, and return the response. Recorded as a test; the schedule does not change."""
    if wanted.dry_run:
        return (await load_test_dry_run(visit.desk, await find_endpoint(visit.desk, wanted.endpoint))).as_json()
    run, outcome = await test(visit.desk, visit.caller, wanted.endpoint)
    endpoint = await find_endpoint(visit.desk, run.endpoint_id)
    return {"run": RunView.of(run, endpoint.name).as_json(), "outcome": _outcome(outcome, wanted.max_bytes)}


@box.tool(Scope.RUN, calls_out=True)
async def check_endpoint(visit: ToolCaller, wanted: CheckEndpoint) -> JsonObject:
    """Try a call before it is stored: the same checks, the same request, nothing recorded and nothing created."""
    config = new_endpoint(wanted, "check", every=CHECKED_EVERY_MS)
    _, outcome = await check(visit.desk, visit.caller, config)
    return _outcome(outcome, wanted.max_bytes)


async def _confirm(desk: Desk, wanted: RemoveEndpoint, deed: str) -> None:
    endpoint = await find_endpoint(desk, wanted.endpoint)
    if not wanted.dry_run and wanted.confirm != endpoint.name:
        raise InvalidInput(
            f"nothing was done: this would {deed}; if that is what the user wants, "
            f"call again with confirm={endpoint.name!r}",
            field="confirm",
            value=shown(wanted.confirm),
        )


def _outcome(outcome: Outcome, max_bytes: int) -> JsonObject:
    return OutcomeView.of(outcome).as_json() | {
        "headers": headers_as_data(outcome.headers),
        "body": None if outcome.body is None else body_as_data(outcome.body, max_bytes),
    }
