"""Endpoints, and the jobs that group them.

An endpoint is a value: its configuration and its scheduling state. The functions of `domain/schedule` compute the next
value, and a store writes it if the epoch is unchanged.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.config_field import DEFAULT_KIND, About, ConfigField, FieldKind, describe
from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import EPOCH, after_ms
from mainspring.domain.kinds.kind import Kind
from mainspring.domain.kinds.registry import KIND_FIELD, KINDS, PAIRS, kind_named, kind_of
from mainspring.domain.name import NAME_LENGTH_MAX
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import PINGED, Action, RunTrigger
from mainspring.domain.schedule.callback_wait import CallbackWait
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.domain.schedule.open_days import Shift

INTERVAL_MS_MIN = 100
INTERVAL_MS_MAX = 366 * 86_400_000
LIMIT_MS_MIN = 1_000  # a limit below one second would let a hint turn an endpoint into a load test
CATCH_UP_MAX = 100
DESCRIPTION_MAX = 10_000
RUNBOOK_MAX = 2_000  # a message on a phone has room for no more
LOST_WORKERS_MAX = 5  # consecutive; then the endpoint is parked, because it may be the cause


class BackoffPolicy(StrEnum):
    DEFAULT = "default"
    MONITOR = "monitor"
    NONE = "none"


class MisfirePolicy(StrEnum):
    RUN_ONCE = "run_once"
    SKIP = "skip"
    CATCH_UP = "catch_up"


class LostWorkerPolicy(StrEnum):
    RETRY = "retry"  # at least once
    SKIP = "skip"  # at most once


class Power(StrEnum):
    """What advice may do to an endpoint."""

    INTERVAL = "interval"  # run it at another interval
    RUN = "run"  # ask for one more run
    WAKE = "wake"  # end a pause that advice may end
    PAUSE = "pause"
    SIBLINGS = "siblings"  # its rules, and sessions about it, act on other endpoints of its job


POWERS = tuple(power.value for power in Power)


class JobStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


class Job(Struct, frozen=True):
    id: str
    tenant_id: str
    name: Annotated[str, About("Name, unique in the tenant.", examples=("nightly",))]
    description: Annotated[str, About("What the endpoints of the job are for.", most=DESCRIPTION_MAX)]
    status: JobStatus
    created_at: datetime
    updated_at: datetime
    managed_by: str = ""  # the configuration source that describes it; "": people alone do


class Tenant(Struct, frozen=True):
    """A tenant's quotas (None: unlimited), its usage this month, and its encrypted signing keys."""

    id: str
    name: str
    runs_per_month: int | None = None
    tokens_per_month: int | None = None
    endpoints_max: int | None = None
    interval_ms_min: int | None = None
    runs_this_month: int = 0
    signing_keys: tuple[str, ...] = ()


class RefusedAdvice(Struct, frozen=True):
    """The newest advice that an endpoint refused: author, action and reason."""

    at: datetime
    author: str
    does: str
    because: str


class EndpointConfig(Struct, frozen=True):
    """The configuration of an endpoint. This is the one place that lists the fields, with those of its kind.

    A new field is a line here (or there), a column in two migrations, a control in the web form, and the code that uses
    it. Interfaces, rows, checks and reference pages follow from the description. Before `check_config` values may be
    raw: a policy may be any text, header values and the query string of the URL are plain.
    """

    name: Annotated[str, About("Name, unique in the tenant.", examples=("health",))]
    action: Action
    interval_ms: Annotated[
        int | None,
        About(
            "Interval between runs; replaces cron and at.",
            key="every",
            least=INTERVAL_MS_MIN,
            most=INTERVAL_MS_MAX,
            examples=("5m",),
        ),
    ] = None
    cron: Annotated[
        str | None,
        About("Cron expression; replaces every and at.", examples=("*/15 * * * *", "@daily", "H 3 * * *")),
    ] = None
    timezone: Annotated[str, About("Time zone of cron, and of the days of calendars.", examples=("Europe/Berlin",))] = (
        "UTC"
    )
    job: Annotated[str, About("Job that the endpoint belongs to; created if new.")] = "default"
    description: Annotated[str, About("What the endpoint is for.", most=DESCRIPTION_MAX)] = ""
    runbook: Annotated[
        str,
        About(
            "What to do when the endpoint fails: a link or a few lines. Sent with its alerts.",
            most=RUNBOOK_MAX,
            examples=("https://wiki.example.com/billing",),
        ),
    ] = ""
    min_interval_ms: Annotated[
        int | None,
        About(
            "Minimum interval between runs. 0: no minimum.", least=LIMIT_MS_MIN, most=INTERVAL_MS_MAX, zero_is_none=True
        ),
    ] = None
    max_interval_ms: Annotated[
        int | None,
        About(
            "Maximum interval between runs. 0: no maximum.", least=LIMIT_MS_MIN, most=INTERVAL_MS_MAX, zero_is_none=True
        ),
    ] = None
    backoff: Annotated[
        BackoffPolicy,
        About(
            "What failures do to the interval: default doubles it, up to 32 times; monitor, up to 1h; none keeps it."
        ),
    ] = BackoffPolicy.DEFAULT
    jitter_ms: Annotated[
        int, About("Each run moves by up to this much, at most half of the interval; with cron at most 1h.")
    ] = 0
    spread: Annotated[
        bool, About("Whether the first run is offset within the interval, so that endpoints do not all run at once.")
    ] = True
    misfire: Annotated[
        MisfirePolicy, About("What happens to runs that were missed: one run, none, or all up to catch_up_max.")
    ] = MisfirePolicy.RUN_ONCE
    catch_up_max: Annotated[int, About("With catch_up: how many missed runs are run.", least=1, most=CATCH_UP_MAX)] = 10
    max_lateness_ms: Annotated[int | None, About("A run later than this counts as missed.", most=INTERVAL_MS_MAX)] = (
        None
    )
    on_lost_worker: Annotated[
        LostWorkerPolicy,
        About("When a worker dies during a run: retry (at least once) or skip (at most once)."),
    ] = LostWorkerPolicy.RETRY
    advice: Annotated[
        tuple[str, ...],
        About("What rules, workflows and the model may do. Empty: nothing.", choices=POWERS),
    ] = POWERS
    retry: Annotated[
        RetryPolicy | None,
        About("Further attempts at a slot that failed, before the failure counts. Default: none."),
    ] = None
    once_at: Annotated[
        datetime | None,
        About(
            "Time of a single run, or `in 10m`; replaces every and cron.",
            key="at",
            examples=("2026-12-24T18:00:00Z", "in 10m"),
        ),
    ] = None
    confirm: Annotated[
        str | None,
        About(
            "How often, and within which time, a failing check is made before it counts as failed.",
            examples=("3 within 20s",),
        ),
    ] = None
    except_calendar: Annotated[
        str, About("Calendar: no run starts on its days.", key="except", most=NAME_LENGTH_MAX, examples=("holidays",))
    ] = ""
    only_calendar: Annotated[
        str,
        About("Calendar: runs start only on its days.", key="only", most=NAME_LENGTH_MAX, examples=("trading-days",)),
    ] = ""
    shift: Annotated[
        Shift, About("What happens to a cron time on an excluded day: skip, or move it to the next or previous day.")
    ] = Shift.SKIP


_SHARED = describe(EndpointConfig)  # of endpoints of every kind


def _of_kinds() -> dict[str, ConfigField]:
    """The fields of all kinds by key. A field that several kinds have is one input, with the same meaning."""
    found: dict[str, ConfigField] = {}
    for kind in KINDS:
        for field in kind.fields:
            known = found.get(field.key)
            if known is None:
                found[field.key] = replace(field, kinds=(kind.name,))
                continue
            assert (known.name, known.kind, known.about.choices) == (field.name, field.kind, field.about.choices), field
            same = known.default == field.default and known.is_required == field.is_required
            found[field.key] = replace(
                known,
                kinds=(*known.kinds, kind.name),
                default=known.default if same else None,
                is_required=known.is_required and same,
            )
    assert not found.keys() & {field.key for field in _SHARED}, "a kind has a field of every endpoint"
    return found


def _all_fields() -> tuple[ConfigField, ...]:
    """All fields in the order of the interfaces: name, kind, url, schedule, request, fields of other kinds."""
    (name, *others), (url, *call) = _SHARED, _of_kinds().values()
    return (name, KIND_FIELD, url, *others, *call)


CONFIG_FIELDS = _all_fields()
SETTINGS = tuple(field for field in CONFIG_FIELDS if field.key not in ("name", "url", *PAIRS))  # of all interfaces
_OF_CALLS = frozenset("at retry confirm misfire max_lateness on_lost_worker description".split())
CALL_FIELDS = tuple(  # what a call has besides its URL and headers
    field for field in SETTINGS if DEFAULT_KIND in field.kinds or field.key in _OF_CALLS
)
JOB_FIELDS = describe(Job)
FIELD_BY_KEY = {field.key: field for field in CONFIG_FIELDS}
_OF_KIND = {
    kind.name: {field.key: replace(field, kinds=FIELD_BY_KEY[field.key].kinds) for field in kind.fields}
    for kind in KINDS
}
_SHARED_BY_KEY = {field.key: field for field in _SHARED}


SCHEDULES = ("every", "cron", "at")  # an endpoint has exactly one of them

C = TypeVar("C", bound="EndpointConfig")


def fields_of(config: EndpointConfig) -> tuple[ConfigField, ...]:
    """The fields that an endpoint of this kind has, in the order of the interfaces; `kind` is the second."""
    kind = kind_of(config.action).name
    own = _OF_KIND.get(kind, {})
    return tuple(own.get(field.key, field) for field in CONFIG_FIELDS if not field.kinds or field.key in own)


def config_value(config: EndpointConfig, field: ConfigField) -> Any:
    """The value of a field; None if endpoints of this kind do not have it."""
    if field is KIND_FIELD:
        return kind_of(config.action).name
    return getattr(config.action, field.name, None) if field.kinds else getattr(config, field.name)


def with_values(config: C, values: Mapping[str, object]) -> C:
    """The configuration with values by the names of their fields."""
    own = config.action.__struct_fields__
    action = {name: value for name, value in values.items() if name in own}
    others = {name: value for name, value in values.items() if name not in own}
    return replace(config, action=replace(config.action, **action), **others)


def new_config(name: str, given: Mapping[str, object]) -> EndpointConfig:
    """A configuration from inputs by key. Raises InvalidInput if a field is missing that the kind requires."""
    kind = kind_named(given.get(KIND_FIELD.key) or KIND_FIELD.default)
    return with_inputs(EndpointConfig(name, _new_action(kind, name, given)), given)


def with_inputs(config: C, given: Mapping[str, object]) -> C:
    """The configuration with inputs by key; None restores a field's default. A mapping changes a part of a group.

    A schedule of one kind replaces one of another. Another kind of endpoint starts with its defaults, and needs its
    required fields.
    """
    inputs = dict(given)
    wanted = inputs.pop(KIND_FIELD.key, None)
    if wanted is not None and wanted != kind_of(config.action).name:
        config = replace(config, action=_new_action(kind_named(wanted), config.name, inputs))
    if any(inputs.get(key) is not None for key in SCHEDULES):
        inputs = dict.fromkeys(SCHEDULES) | inputs
    own = _OF_KIND.get(kind_of(config.action).name, {})
    values: dict[str, object] = {}
    for key, given_value in inputs.items():
        field, value = own.get(key) or _SHARED_BY_KEY.get(key), given_value
        if field is None:
            if value not in (None, ()):
                raise _of_another_kind(config, key)
            continue
        if value is None and field.is_required:
            raise InvalidInput(f"{key} cannot be null; leave it out, or give one", field=key)
        if isinstance(value, Mapping) and field.kind is FieldKind.GROUP:
            value = field.with_parts(config_value(config, field), value)
        values[field.name] = field.default if value is None else tuple(value) if isinstance(value, list) else value
    return with_values(config, values)


def _new_action(kind: Kind[Any], name: str, given: Mapping[str, object]) -> Action:
    required = [field for field in kind.fields if field.is_required]
    for field in required:
        if given.get(field.key) is None:
            raise InvalidInput(
                f"no {field.key} for {name[:100]!r}; an endpoint of kind {kind.name} needs one: give {field.key}"
                f"{_kind_meant(kind, given)}",
                field=field.key,
            )
    action: Action = kind.action(**{field.name: given[field.key] for field in required})
    return action


def _kind_meant(kind: Kind[Any], given: Mapping[str, object]) -> str:
    """A hint for inputs that belong to another kind: the kind was probably forgotten."""
    if KIND_FIELD.key in given:
        return ""
    for key in given:
        field = FIELD_BY_KEY.get(key)
        if field is not None and field.kinds and kind.name not in field.kinds:
            return f", or `kind` if another one is meant ({key} belongs to kind {' and '.join(field.kinds)})"
    return ""


def _of_another_kind(config: EndpointConfig, key: str) -> InvalidInput:
    kinds = FIELD_BY_KEY[key].kinds
    return InvalidInput(
        f"{key} belongs to kind {' and '.join(kinds)}, and {config.name[:100]!r} is of kind "
        f"{kind_of(config.action).name}; leave {key} out, or choose kind {' or '.join(kinds)}",
        field=key,
    )


class Endpoint(EndpointConfig, frozen=True):
    """The configuration, what identifies the endpoint, and its whole scheduling state.

    Every field has a default, so that a blank endpoint is written in one line. The stores' columns follow this order.
    """

    id: str = ""
    tenant_id: str = ""
    job_id: str = ""
    host: str = ""  # `host:port` of the action, for the limit per host; the endpoint's id if it calls no host
    created_at: datetime = EPOCH
    updated_at: datetime = EPOCH
    version: int = 1  # of the configuration; +1 with every edit
    archived_at: datetime | None = None
    managed_by: str = ""  # the configuration source that describes it; "": people alone do
    call_key: str | None = None  # of a call: a single run that a program asked for
    days: str = ""  # the days that its calendars allow, encoded as in `open_days`; "": it has no calendars

    # The reasons not to run at all.
    job_active: bool = True
    parked_at: datetime | None = None
    parked_reason: str = ""
    paused_until: datetime | None = None
    pause_reason: str = ""
    deferred_until: datetime | None = None  # over quota until then

    # What the governor reads besides the configuration.
    failure_count: int = 0
    not_before: datetime | None = None  # the target's Retry-After
    interval_hint: IntervalHint | None = None
    one_shot_hint: OneShotHint | None = None

    # The plan: when it runs next and why.
    anchor_at: datetime = EPOCH  # the `now` of the last decision that a run made; replanning starts from it
    next_run_at: datetime | None = None  # None: not until something changes
    source: str = ""
    trail: str = "[]"  # JSON
    manual_at: datetime | None = None  # a requested run that waits for its turn

    # The slot in progress, or owed (taken over, released, caught up), and its worker.
    slot_at: datetime | None = None
    trigger: RunTrigger = RunTrigger.SCHEDULE
    attempt: int = 0
    claim_epoch: int = 0
    lease_until: datetime | None = None
    claimed_by: str = ""
    run_id: str = ""
    lost_count: int = 0

    # The last run that ended.
    last_run_at: datetime | None = None
    last_status: str = ""
    last_duration_ms: int | None = None  # None: it has not run yet

    # The first and the last cron slot that ran while the clock was ahead. They do not run again.
    ran_from_at: datetime | None = None
    ran_until_at: datetime | None = None

    # Who may end a pause depends on its author; "" is a pause of unknown origin, which advice may end.
    pause_author: str = ""
    advice_may_resume: bool = False  # a person paused it, and lets advice end the pause
    refused_advice: RefusedAdvice | None = None

    failed_attempts: int = 0  # of the slot in progress, by a result; lost workers are not counted
    waiting: CallbackWait | None = None  # the target accepted the run in progress, and a callback ends it

    @property
    def is_running(self) -> bool:
        return self.lease_until is not None

    @property
    def is_open(self) -> bool:
        """Whether a run continues without a worker: a ping or a callback ends it."""
        return self.waiting is not None or (self.claimed_by == PINGED and self.slot_at is not None)

    @property
    def open_until(self) -> datetime:
        """When an open run must have ended; one that a ping started began at the anchor."""
        if self.waiting is not None:
            return self.waiting.until_at
        limit_ms: int = getattr(self.action, "max_duration_ms", None) or self.action.judged_after_ms
        return after_ms(self.anchor_at, limit_ms)

    @property
    def opened_at(self) -> datetime:
        """When an open run began."""
        return self.anchor_at if self.waiting is None else self.waiting.since_at

    @property
    def requested_at(self) -> datetime | None:
        """When a run was requested that has not started."""
        return self.manual_at if self.waiting is None else self.waiting.requested_at

    @property
    def is_retrying(self) -> bool:
        """Whether the endpoint waits for another attempt at a slot that failed."""
        is_idle = self.lease_until is None and self.waiting is None
        return self.failed_attempts > 0 and self.slot_at is not None and is_idle

    @property
    def due_at(self) -> datetime | None:
        """When a worker may claim the endpoint: when the lease expires, or when a run is due or requested."""
        if self.lease_until is not None:
            return self.lease_until
        return min((at for at in (self.manual_at, self.next_run_at) if at is not None), default=None)

    @property
    def can_run(self) -> bool:
        return self.job_active and self.archived_at is None and self.parked_at is None

    def has_run(self, slot_at: datetime) -> bool:
        """Whether a cron slot ran while the clock was ahead."""
        return (
            self.cron is not None
            and self.ran_from_at is not None
            and self.ran_until_at is not None
            and self.ran_from_at <= slot_at <= self.ran_until_at
        )

    @property
    def is_done(self) -> bool:
        """Whether the single run of the endpoint is over: the last decision that a run made is not before it."""
        if self.once_at is None or self.anchor_at < self.once_at or self.is_retrying:
            return False
        return (self.lease_until is None and self.waiting is None) or self.trigger is RunTrigger.MANUAL

    def is_paused(self, now: datetime) -> bool:
        return self.paused_until is not None and self.paused_until > now
