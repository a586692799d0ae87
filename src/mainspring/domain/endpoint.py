"""Endpoints and jobs: one thing to call and when, and the named groups they belong to.

An endpoint is a value: its configuration and its whole scheduling state. Nothing changes one in place: `planning`,
`claiming`, `settling` and `changes` compute the next value, a store writes it where the epoch is still theirs.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.config_field import About, ConfigField, describe
from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import EPOCH
from mainspring.domain.run import HttpAction, RunTrigger
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint

INTERVAL_MS_MIN = 100
INTERVAL_MS_MAX = 366 * 86_400_000
LIMIT_MS_MIN = 1_000  # a limit below one second would let a hint turn an endpoint into a load test
CATCH_UP_MAX = 100
DESCRIPTION_MAX = 10_000
RUNBOOK_MAX = 2_000  # a message on a phone has room for no more
LOST_WORKERS_MAX = 5  # in a row; then the endpoint is parked: it may be what kills them


class BackoffPolicy(StrEnum):
    DEFAULT = "default"
    MONITOR = "monitor"


class MisfirePolicy(StrEnum):
    RUN_ONCE = "run_once"
    SKIP = "skip"
    CATCH_UP = "catch_up"


class LostWorkerPolicy(StrEnum):
    RETRY = "retry"  # at least once
    SKIP = "skip"  # at most once


class Power(StrEnum):
    """What the owner of an endpoint lets advice do."""

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
    name: str
    description: str
    status: JobStatus
    created_at: datetime
    updated_at: datetime
    managed_by: str = ""  # the configuration source that describes it; "": people alone do


class Tenant(Struct, frozen=True):
    """A tenant's quotas (None: unlimited), what it used of them this month, and its sealed signing keys."""

    id: str
    name: str
    runs_per_month: int | None = None
    tokens_per_month: int | None = None
    endpoints_max: int | None = None
    interval_ms_min: int | None = None
    runs_this_month: int = 0
    signing_keys: tuple[str, ...] = ()


class RefusedAdvice(Struct, frozen=True):
    """The newest advice that an endpoint refused: whose it was, what it asked for, and why it was refused."""

    at: datetime
    author: str
    does: str
    because: str


class EndpointConfig(Struct, frozen=True):
    """What the owner of an endpoint decides. This is the one place that lists the fields, with those of `HttpAction`.

    A new field is a line here (or there), a column in two migrations, a control in the web form, and the code that uses
    it. Doors, rows, checks and reference pages follow from the description. Before `check_config` values may be raw:
    a policy may be any text, header values and the query string of the URL are plain.
    """

    name: Annotated[str, About("Name, unique in the tenant.", examples=("health",))]
    action: HttpAction
    interval_ms: Annotated[
        int | None,
        About(
            "Interval between runs; replaces cron.",
            key="every",
            least=INTERVAL_MS_MIN,
            most=INTERVAL_MS_MAX,
            examples=("5m",),
        ),
    ] = None
    cron: Annotated[
        str | None,
        About("Cron expression; replaces every.", examples=("*/15 * * * *", "@daily", "H 3 * * *")),
    ] = None
    timezone: Annotated[str, About("Time zone of cron.", examples=("Europe/Berlin",))] = "UTC"
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
        About("What failures do to the interval: default doubles it, up to 32 times; monitor, up to an hour."),
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


def _all_fields() -> tuple[ConfigField, ...]:
    """`url` before everything that says when it is called; how it is called comes last."""
    (name, *others), (url, *call) = describe(EndpointConfig), describe(HttpAction)
    return (name, url, *others, *call)


CONFIG_FIELDS = _all_fields()
SETTINGS = tuple(
    field for field in CONFIG_FIELDS if field.key not in ("name", "url", "headers")
)  # as every door has them
FIELD_BY_KEY = {field.key: field for field in CONFIG_FIELDS}
_OF_ACTION = frozenset(field.name for field in describe(HttpAction))


C = TypeVar("C", bound="EndpointConfig")


def config_value(config: EndpointConfig, field: ConfigField) -> Any:
    return getattr(config.action if field.name in _OF_ACTION else config, field.name)


def with_values(config: C, values: Mapping[str, object]) -> C:
    """The configuration with values by the names of their fields."""
    action = {name: value for name, value in values.items() if name in _OF_ACTION}
    others = {name: value for name, value in values.items() if name not in _OF_ACTION}
    return replace(config, action=replace(config.action, **action), **others)


def with_inputs(config: C, given: Mapping[str, object]) -> C:
    """The configuration with inputs by key; None sets a field back to its default.

    A schedule of the one kind replaces one of the other.
    """
    inputs = dict(given)
    for key, other in (("every", "cron"), ("cron", "every")):
        if inputs.get(key) is not None:
            inputs.setdefault(other, None)
    values: dict[str, object] = {}
    for key, value in inputs.items():
        field = FIELD_BY_KEY[key]
        if value is None and field.is_required:
            raise InvalidInput(f"{key} cannot be null; leave it out, or give one", field=key)
        values[field.name] = field.default if value is None else tuple(value) if isinstance(value, list) else value
    return with_values(config, values)


class Endpoint(EndpointConfig, frozen=True):
    """The configuration, what identifies the endpoint, and its whole scheduling state.

    Every field has a default, so that a blank endpoint is written in one line. The stores' columns follow this order.
    """

    id: str = ""
    tenant_id: str = ""
    job_id: str = ""
    host: str = ""  # `host:port` of the action, for the cap on concurrent calls to one host
    created_at: datetime = EPOCH
    updated_at: datetime = EPOCH
    version: int = 1  # of the configuration; +1 with every edit
    archived_at: datetime | None = None
    managed_by: str = ""  # the configuration source that describes it; "": people alone do

    # What stops it from running at all.
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

    # The slot in hand, or owed (taken over, released, caught up), and who holds it.
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

    # Who may end a pause depends on who set it; "" is a pause of unknown origin, which advice may end.
    pause_author: str = ""
    advice_may_resume: bool = False  # a person paused it, and lets advice end the pause
    refused_advice: RefusedAdvice | None = None

    @property
    def is_running(self) -> bool:
        return self.lease_until is not None

    @property
    def due_at(self) -> datetime | None:
        """When a worker may reach for it: when its lease is over, or when it is due or asked for."""
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

    def is_paused(self, now: datetime) -> bool:
        return self.paused_until is not None and self.paused_until > now
