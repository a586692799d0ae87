"""Endpoints and runs as commands print them."""

from datetime import datetime
from typing import TYPE_CHECKING

from mainspring.cli.output import note, now
from mainspring.cli.table import show_fields
from mainspring.domain.duration import format_duration
from mainspring.domain.instant import FOREVER
from mainspring.views.sentences import hints_in_words, relative, source_in_words, took, waiting_in_words, when

if TYPE_CHECKING:
    from mainspring.domain.config_field import ConfigField
    from mainspring.operations.context import Desk
    from mainspring.ports.filters import EndpointOrder
    from mainspring.ports.presence import WorkerRow
    from mainspring.ports.stores import Stores
    from mainspring.views.endpoint import EndpointView
    from mainspring.views.run import BodyView, PhasesView, RunDetailView, RunView

PAGE = 1_000
PREVIEW_CHARS = 2_000


async def list_endpoints(
    desk: "Desk",
    job: str | None,
    count: int | None,
    *,
    state: str | None = None,
    text: str | None = None,
    order: "EndpointOrder" = "name",
) -> list["EndpointView"]:
    """The endpoints in order, read in pages so that no query is large."""
    from mainspring.operations.jobs import find_job
    from mainspring.ports.filters import EndpointListFilter
    from mainspring.views.endpoint import EndpointView

    job_id = (await find_job(desk, job)).id if job is not None else None
    at = await desk.stores.schedule.now()
    found: list[EndpointView] = []
    after: tuple[str, str] | None = None
    while count is None or len(found) < count:
        limit = PAGE if count is None else min(PAGE, count - len(found))
        wanted = EndpointListFilter(job_id, state, text, after, limit, order)
        page = await desk.stores.look.endpoints(desk.tenant_id, wanted)
        found.extend(EndpointView.of(endpoint, at) for endpoint in page)
        if len(page) < limit:
            break
        last = page[-1]
        after = (last.name if "name" in order else (last.next_run_at or FOREVER).isoformat()), last.id
    return found


def schedule_in_words(endpoint: "EndpointView") -> str:
    if endpoint.interval_ms is not None:
        return f"every {format_duration(endpoint.interval_ms)}"
    if endpoint.once_at is not None:
        return endpoint.schedule
    zone = "" if endpoint.timezone == "UTC" else f" {endpoint.timezone}"
    return f"{endpoint.cron}{zone}"


def run_sentence(run: "RunView") -> str:
    span = "" if run.duration_ms is None else f" in {took(run.duration_ms)}"
    code = "" if run.status_code is None else f", {code_in_words(run)}"
    error = "" if run.error is None else f": {run.error}"
    return f"{run.endpoint}: {run.status}{code}{span}{error} ({run.id})"


def code_in_words(run: "RunView | RunDetailView") -> str:
    """`HTTP 200`, or the exit code of a command: a response of HTTP ends with a status of 200 or more."""
    is_exit = getattr(run, "error_code", None) == "exit_code" or (run.status_code or 0) < 200
    return f"{'exit code' if is_exit else 'HTTP'} {run.status_code}"


def show_endpoint(endpoint: "EndpointView") -> None:
    at = now()
    show_fields(
        [
            ("name", endpoint.name),
            ("id", endpoint.id),
            ("job", endpoint.job),
            *_if("description", endpoint.description),
            *_if("managed by", endpoint.managed_by or ""),
            ("state", endpoint.status),
            *_stops(endpoint, at),
            *_plan(endpoint, at),
            *_schedule(endpoint),
            *_call(endpoint),
            *_other_settings(endpoint),
            ("changed", f"{when(at, endpoint.updated_at)}, version {endpoint.version}"),
        ]
    )


def note_if_managed(name: str, managed_by: str | None) -> None:
    """Warns that the next `apply` undoes a manual change of a managed object."""
    if managed_by:
        note(
            f"{name!r} is managed by the configuration source {managed_by!r}; "
            "the next `mainspring apply` of it undoes this"
        )


def _stops(endpoint: "EndpointView", at: datetime) -> list[tuple[str, str]]:
    from mainspring.domain.schedule.hint import author_in_words

    fields: list[tuple[str, str]] = []
    if endpoint.paused_until is not None and endpoint.paused_until > at:
        by = f", by {author_in_words(endpoint.pause_author)}" if endpoint.pause_author else ""
        reason = f": {endpoint.pause_reason}" if endpoint.pause_reason else ""
        fields.append(("paused until", f"{when(at, endpoint.paused_until)}{by}{reason}"))
    if endpoint.parked_at is not None:
        fields.append(("parked", f"{when(at, endpoint.parked_at)}: {endpoint.parked_reason}"))
    if endpoint.archived_at is not None:
        fields.append(("archived", when(at, endpoint.archived_at)))
    if endpoint.deferred_until is not None:
        fields.append(("over quota until", when(at, endpoint.deferred_until)))
    return fields


def _plan(endpoint: "EndpointView", at: datetime) -> list[tuple[str, str]]:
    source = f", set by {source_in_words(endpoint)}" if endpoint.next_run_at is not None else ""
    fields = [(_name_of_next(endpoint), when(at, endpoint.next_run_at, none="never") + source)]
    if (running := endpoint.running) is not None:
        how = f"by {running.worker}" if running.callback is None else waiting_in_words(running.callback, at)
        fields.append(("running", f"{running.run_id}, attempt {running.attempt}, {how}"))
    if endpoint.run_requested_at is not None:
        fields.append(("run requested", when(at, endpoint.run_requested_at)))
    if endpoint.last_run_at is not None:
        fields.append(("last run", f"{endpoint.last_status}, {when(at, endpoint.last_run_at)}"))
    if endpoint.failure_count:
        fields.append(
            ("failed", "the last run" if endpoint.failure_count == 1 else f"the last {endpoint.failure_count} runs")
        )
    if endpoint.not_before is not None and endpoint.not_before > at:
        fields.append(("not before", f"{when(at, endpoint.not_before)}, as the target asked"))
    fields.extend(hints_in_words(endpoint, at))
    return fields


def _schedule(endpoint: "EndpointView") -> list[tuple[str, str]]:
    from mainspring.domain.endpoint import POWERS

    words = schedule_in_words(endpoint)
    if endpoint.cron is not None:
        words += f" ({endpoint.schedule})"
    if not endpoint.spread and endpoint.interval_ms is not None:
        words += ", not spread"
    fields = [("schedule", words)]
    if tuple(endpoint.advice) != POWERS:
        fields.append(("advice may", ", ".join(endpoint.advice) or "do nothing"))
    catch_up = f", at most {endpoint.catch_up_max}" if endpoint.misfire == "catch_up" else ""
    lateness = endpoint.max_lateness_ms
    late = f", at most {format_duration(lateness)} late" if lateness is not None else ""
    fields.append(("backoff", endpoint.backoff))
    fields.append(("misfire", f"{endpoint.misfire}{catch_up}{late}"))
    fields.append(("on lost worker", endpoint.on_lost_worker))
    return fields


def _call(endpoint: "EndpointView") -> list[tuple[str, str]]:
    fields = [("calls", endpoint.target)]
    for header in endpoint.headers:
        fields.append(("header", f"{header.name}: {header.value}"))
    for variable in endpoint.environment:
        fields.append(("variable", f"{variable.name}={variable.value}"))
    if endpoint.body is not None:
        fields.append(("body", endpoint.body))
    fields.append(("timeout", format_duration(endpoint.timeout_ms)))
    if endpoint.accept_codes is not None:
        codes = ", ".join(map(str, endpoint.accept_codes)) or "2xx"
        condition = f" and {endpoint.condition}" if endpoint.condition else ""
        fields.append(("success", f"{codes}{condition}"))
    elif endpoint.condition:
        fields.append(("success", endpoint.condition))
    if endpoint.redirects_max:
        fields.append(("redirects", f"at most {endpoint.redirects_max}"))
    fields.append(("response kept", f"{endpoint.body_cap:,} bytes"))
    return fields


# Settings on a separate line, or with a part on one.
_WORDED = frozenset(
    """
    kind every cron at timezone job description spread advice backoff misfire catch_up_max max_lateness on_lost_worker
    method body timeout accept_codes condition redirects_max body_cap
    """.split()
)


def _other_settings(endpoint: "EndpointView") -> list[tuple[str, str]]:
    """The settings that differ from their default. Of a group, all of its fields."""
    from mainspring.domain.endpoint import SETTINGS
    from mainspring.domain.kinds.registry import KINDS

    defaults = {field.name: field.default for kind in KINDS if kind.name == endpoint.kind for field in kind.fields}
    shown: list[tuple[str, str]] = []
    for field in SETTINGS:
        value = getattr(endpoint, field.name)
        is_of_kind = not field.kinds or endpoint.kind in field.kinds
        if is_of_kind and field.key not in _WORDED and value != defaults.get(field.name, field.default):
            for part in field.parts:
                shown.append(
                    (f"{field.key} {part.label}".replace("_", " "), _in_words(part, getattr(value, part.name)))
                )
            if not field.parts:
                shown.append((field.label.replace("_", " "), _in_words(field, value)))
    return shown


def _in_words(field: "ConfigField", value: object) -> str:
    from mainspring.domain.config_field import FieldKind

    if field.kind is FieldKind.DURATION and isinstance(value, int):
        return format_duration(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def show_test(endpoint: "EndpointView", run: "RunDetailView") -> None:
    """The result of a test call: status, phases, and the beginning of the body."""
    code = code_in_words(run) if run.status_code is not None else "no response"
    fields = [
        ("called", endpoint.target),
        ("status", run.status),
        ("response", f"{code} in {took(run.duration_ms)}"),
        ("address", _address_verdict(run)),
        *_if("error", run.error or ""),
    ]
    if run.phases is not None:
        fields.extend(phases_in_words(run.phases))
    if run.body is not None:
        fields.append(("body", body_in_words(run.body)))
    show_fields(fields)
    if run.body is not None and run.body.text:
        print()
        print(_preview(run.body.text))


def _address_verdict(run: "RunDetailView") -> str:
    if run.error_code == "blocked_address":
        return "blocked"  # the error says why, and what helps
    return f"{run.address}, allowed" if run.address else "none reached"


def phases_in_words(phases: "PhasesView") -> list[tuple[str, str]]:
    """The duration of each phase; phases that did not happen are left out."""
    fields: list[tuple[str, str]] = []
    before_us = 0
    for name, at_us in (
        ("name lookup", phases.dns_us),
        ("connect", phases.connect_us),
        ("TLS", phases.tls_us),
        ("first byte", phases.first_byte_us),
        ("rest", phases.total_us),
    ):
        if at_us is not None and at_us > before_us:
            fields.append((name, f"{(at_us - before_us) / 1000:.1f} ms"))
            before_us = at_us
    return fields


def body_in_words(body: "BodyView") -> str:
    kept = f"{body.bytes_kept:,} bytes"
    if body.truncated:
        kept += f" kept of {body.bytes_seen:,} or more"
    return f"{kept}, {body.content_type or 'no content type'}"


def _preview(text: str) -> str:
    if len(text) <= PREVIEW_CHARS:
        return text
    return f"{text[:PREVIEW_CHARS]}\n… {len(text) - PREVIEW_CHARS:,} more characters"


def _if(name: str, value: str) -> list[tuple[str, str]]:
    return [(name, value)] if value else []


def next_in_words(endpoint: "EndpointView") -> str:
    if endpoint.next_run_at is None:
        return f"it does not run: {endpoint.status}"
    suffix = f" ({endpoint.status})" if endpoint.status != "active" else ""
    return f"{_name_of_next(endpoint)} {when(now(), endpoint.next_run_at)}{suffix}"


def _name_of_next(endpoint: "EndpointView") -> str:
    """The meaning of `next_run_at`: a heartbeat has a deadline, and so has a run that waits for its callback."""
    is_waiting = endpoint.running is not None and endpoint.running.callback is not None
    return "deadline" if endpoint.kind == "heartbeat" or is_waiting else "next run"


def state_in_words(endpoint: "EndpointView") -> str:
    """The state in words: running, failing, and the consecutive failures."""
    state = "running" if endpoint.running is not None else endpoint.status
    if not endpoint.failure_count or state == "archived":
        return state
    failing = f"failing ({endpoint.failure_count} in a row)" if endpoint.failure_count > 1 else "failing"
    return failing if state == "active" else f"{state}, {failing}"


def last_in_words(endpoint: "EndpointView", at: datetime) -> str:
    return "-" if endpoint.last_run_at is None else f"{endpoint.last_status} {relative(at, endpoint.last_run_at)}"


async def live_schedulers(stores: "Stores") -> list["WorkerRow"]:
    return [row for row in await stores.presence.alive() if row.kind == "scheduler"]


async def has_scheduler(stores: "Stores") -> bool:
    return bool(await live_schedulers(stores))
