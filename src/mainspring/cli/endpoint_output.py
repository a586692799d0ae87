"""Endpoints and runs as people see them: read together with what belongs to them, and put into words."""

from datetime import datetime
from typing import TYPE_CHECKING

from mainspring.cli.output import note
from mainspring.cli.table import show_fields
from mainspring.domain.duration import format_duration
from mainspring.domain.instant import FOREVER
from mainspring.views.sentences import EndpointSight, hints_in_words, relative, took, when
from mainspring.views.shapes import MASK, state_of

if TYPE_CHECKING:
    from mainspring.domain.endpoint import Endpoint
    from mainspring.operations.endpoints import Desk
    from mainspring.ports.filters import EndpointOrder
    from mainspring.views.run import BodyView, PhasesView, RunDetailView, RunView

PAGE = 1_000
PREVIEW_CHARS = 2_000


async def see(desk: "Desk", endpoint: "Endpoint") -> EndpointSight:
    from mainspring.cli.schedulers import has_scheduler

    return EndpointSight(endpoint, endpoint.job, await desk.stores.schedule.now(), await has_scheduler(desk.stores))


async def see_all(
    desk: "Desk",
    job: str | None,
    count: int | None,
    *,
    state: str | None = None,
    text: str | None = None,
    order: "EndpointOrder" = "name",
) -> list[EndpointSight]:
    """Every endpoint that is wanted, in order; read in pages, so that no single query is large."""
    from mainspring.operations.jobs import find_job
    from mainspring.ports.filters import EndpointListFilter

    job_id = (await find_job(desk, job)).id if job is not None else None
    now = await desk.stores.schedule.now()
    sights: list[EndpointSight] = []
    after: tuple[str, str] | None = None
    while count is None or len(sights) < count:
        limit = PAGE if count is None else min(PAGE, count - len(sights))
        wanted = EndpointListFilter(job_id, state, text, after, limit, order)
        page = await desk.stores.look.endpoints(desk.tenant_id, wanted)
        sights.extend(EndpointSight(endpoint, endpoint.job, now) for endpoint in page)
        if len(page) < limit:
            break
        last = page[-1]
        after = (last.name if "name" in order else (last.next_run_at or FOREVER).isoformat()), last.id
    return sights


def schedule_in_words(endpoint: "Endpoint") -> str:
    if endpoint.interval_ms is not None:
        return f"every {format_duration(endpoint.interval_ms)}"
    zone = "" if endpoint.timezone == "UTC" else f" {endpoint.timezone}"
    return f"{endpoint.cron}{zone}"


def run_sentence(run: "RunView") -> str:
    span = "" if run.duration_ms is None else f" in {took(run.duration_ms)}"
    code = "" if run.status_code is None else f", HTTP {run.status_code}"
    error = "" if run.error is None else f": {run.error}"
    return f"{run.endpoint}: {run.status}{code}{span}{error} ({run.id})"


def show_endpoint(sight: EndpointSight) -> None:
    endpoint, now = sight.endpoint, sight.now
    show_fields(
        [
            ("name", endpoint.name),
            ("id", endpoint.id),
            ("job", sight.job),
            *_if("description", endpoint.description),
            *_if("managed by", endpoint.managed_by),
            ("state", state_of(endpoint, now)),
            *_stops(endpoint, now),
            *_plan(endpoint, now),
            *_schedule(endpoint),
            *_call(endpoint),
            *_other_settings(endpoint),
            ("changed", f"{when(now, endpoint.updated_at)}, version {endpoint.version}"),
        ]
    )


def note_if_managed(name: str, managed_by: str | None) -> None:
    """What a file describes may be changed by hand, but who does so should know what becomes of it."""
    if managed_by:
        note(
            f"{name!r} is managed by the configuration source {managed_by!r}; "
            "the next `mainspring apply` of it undoes this"
        )


def _stops(endpoint: "Endpoint", now: datetime) -> list[tuple[str, str]]:
    from mainspring.domain.schedule.hint import author_in_words

    fields: list[tuple[str, str]] = []
    if endpoint.is_paused(now):
        by = f", by {author_in_words(endpoint.pause_author)}" if endpoint.pause_author else ""
        reason = f": {endpoint.pause_reason}" if endpoint.pause_reason else ""
        fields.append(("paused until", f"{when(now, endpoint.paused_until)}{by}{reason}"))
    if endpoint.parked_at is not None:
        fields.append(("parked", f"{when(now, endpoint.parked_at)}: {endpoint.parked_reason}"))
    if endpoint.archived_at is not None:
        fields.append(("archived", when(now, endpoint.archived_at)))
    if endpoint.deferred_until is not None:
        fields.append(("over quota until", when(now, endpoint.deferred_until)))
    return fields


def _plan(endpoint: "Endpoint", now: datetime) -> list[tuple[str, str]]:
    source = f", {endpoint.source}" if endpoint.next_run_at is not None else ""
    fields = [("next run", when(now, endpoint.next_run_at, none="never") + source)]
    if endpoint.is_running:
        fields.append(("running", f"{endpoint.run_id}, attempt {endpoint.attempt}, by {endpoint.claimed_by}"))
    if endpoint.manual_at is not None:
        fields.append(("run requested", when(now, endpoint.manual_at)))
    if endpoint.last_run_at is not None:
        fields.append(("last run", f"{endpoint.last_status}, {when(now, endpoint.last_run_at)}"))
    if endpoint.failure_count:
        fields.append(
            ("failed", "the last run" if endpoint.failure_count == 1 else f"the last {endpoint.failure_count} runs")
        )
    if endpoint.not_before is not None and endpoint.not_before > now:
        fields.append(("not before", f"{when(now, endpoint.not_before)}, as the target asked"))
    fields.extend(hints_in_words(endpoint, now))
    return fields


def _schedule(endpoint: "Endpoint") -> list[tuple[str, str]]:
    from mainspring.domain.endpoint import POWERS
    from mainspring.domain.schedule.cron import describe

    words = schedule_in_words(endpoint)
    if endpoint.cron is not None:
        words += f" ({describe(endpoint.cron, endpoint.id)})"
    if not endpoint.spread and endpoint.interval_ms is not None:
        words += ", not spread"
    fields = [("schedule", words)]
    if endpoint.advice != POWERS:
        fields.append(("advice may", ", ".join(endpoint.advice) or "do nothing"))
    catch_up = f", at most {endpoint.catch_up_max}" if endpoint.misfire == "catch_up" else ""
    lateness = endpoint.max_lateness_ms
    late = f", at most {format_duration(lateness)} late" if lateness is not None else ""
    fields.append(("backoff", endpoint.backoff.value))
    fields.append(("misfire", f"{endpoint.misfire.value}{catch_up}{late}"))
    fields.append(("on lost worker", endpoint.on_lost_worker.value))
    return fields


def _call(endpoint: "Endpoint") -> list[tuple[str, str]]:
    from mainspring.domain.target import shown_url

    action = endpoint.action
    fields = [("calls", f"{action.method} {shown_url(action.url)}")]
    for header in action.headers:
        fields.append(("header", f"{header.name}: {MASK if header.secret else header.value}"))
    if action.body is not None:
        fields.append(("body", action.body))
    fields.append(("timeout", format_duration(action.timeout_ms)))
    codes = ", ".join(map(str, action.accept_codes)) or "2xx"
    condition = f" and {action.condition}" if action.condition else ""
    fields.append(("success", f"{codes}{condition}"))
    if action.redirects_max:
        fields.append(("redirects", f"at most {action.redirects_max}"))
    fields.append(("response kept", f"{action.body_cap:,} bytes"))
    return fields


# Settings with a line of their own, or a part in one.
_WORDED = frozenset(
    """
    every cron timezone job description spread advice backoff misfire catch_up_max max_lateness on_lost_worker
    method body timeout accept_codes condition redirects_max body_cap
    """.split()
)


def _other_settings(endpoint: "Endpoint") -> list[tuple[str, str]]:
    """The settings that are not the default, each by its name."""
    from mainspring.domain.config_field import FieldKind
    from mainspring.domain.endpoint import SETTINGS, config_value

    shown: list[tuple[str, str]] = []
    for field in SETTINGS:
        value = config_value(endpoint, field)
        if field.key not in _WORDED and value != field.default:
            text = format_duration(value) if field.kind is FieldKind.DURATION else str(value)
            shown.append((field.label.replace("_", " "), text))
    return shown


def show_test(method: str, url: str, run: "RunDetailView") -> None:
    """What a test call met: the verdict, the time line, the beginning of the body."""
    code = f"HTTP {run.status_code}" if run.status_code is not None else "no response"
    fields = [
        ("called", f"{method} {url}"),
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
        return "blocked"  # why, and what helps, is the error's to say
    return f"{run.address}, allowed" if run.address else "none reached"


def phases_in_words(phases: "PhasesView") -> list[tuple[str, str]]:
    """Each phase with what it took itself; those that did not happen are left out."""
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


def next_in_words(sight: EndpointSight) -> str:
    at: datetime | None = sight.endpoint.next_run_at
    state = state_of(sight.endpoint, sight.now)
    if at is None:
        return f"it does not run: {state}"
    suffix = f" ({state})" if state != "active" else ""
    return f"next run {when(sight.now, at)}{suffix}"


def state_in_words(sight: EndpointSight) -> str:
    """What a person looks for first: whether it runs now, whether it fails, and how often it did in a row."""
    endpoint = sight.endpoint
    state = "running" if endpoint.is_running else state_of(endpoint, sight.now)
    if not endpoint.failure_count or state == "archived":
        return state
    failing = f"failing ({endpoint.failure_count} in a row)" if endpoint.failure_count > 1 else "failing"
    return failing if state == "active" else f"{state}, {failing}"


def last_in_words(sight: EndpointSight) -> str:
    if sight.endpoint.last_run_at is None:
        return "-"
    return f"{sight.endpoint.last_status} {relative(sight.now, sight.endpoint.last_run_at)}"
