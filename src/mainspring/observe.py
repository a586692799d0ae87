"""Define the log events and metrics of the program. Their names are used nowhere else.

A log line is an event name and fields, never a sentence built from values. Secrets and bodies never enter a log line.
`docs/reference/observability.md` is generated from the tables in this module.
"""

import logging
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Literal

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

LATENESS_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 3600)
DURATION_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600)

LOG_EVENTS = {
    "scheduler started": "The scheduler started to look for due endpoints.",
    "scheduler stopped": "The scheduler stopped, either drained or after the shutdown grace.",
    "concurrency reduced": "The limit on open files allows fewer runs in flight than MAINSPRING_CONCURRENCY asks for.",
    "draining": "The scheduler claims nothing more; runs in flight may finish within the shutdown grace.",
    "slots released": "Runs that did not finish within the shutdown grace were released.",
    "stray slots released": "After a lost connection or a failover, the database named runs that this worker does not "
    "have; they were released.",
    "database unavailable": "The database does not respond; results are buffered and the connection is retried.",
    "database lost": "The database file was deleted or replaced, or the installation has moved; the process ends.",
    "database available": "The database responds again.",
    "result dropped": "A result could not be recorded before its lease ended; the slot runs again.",
    "result unstorable": "The database refused one result; it was stored without its body.",
    "result superseded": "A result arrived after another worker had taken over its slot.",
    "call raised": "Calling an endpoint raised an exception instead of returning; recorded as a failure.",
    "worker failed": "A worker raised an exception in one round; it continues after a pause.",
    "endpoints late": "The watchdog found endpoints that were due and did not start in time.",
    "endpoints on time again": "No endpoint is late any more.",
    "worker lost": "A process died; its slots, partitions and effects were released. Simultaneous deaths share a line.",
    "executions overdue": "Executions should have advanced a minute ago and did not.",
    "executions on time again": "No execution is overdue any more.",
    "partitions adopted": "A ticker writes partitions beyond the configured number because executions wait in them.",
    "events held back": "A transaction that wrote events is still open; rules, alerts and webhooks wait for it.",
    "events released": "The transaction ended; the events it held back are readable.",
    "endpoints waiting": "Late endpoints wait for this: a host, a rate, a tenant's limit or a place.",
    "zombies closed": "Runs without a result were closed as timeouts.",
    "clock stepped": "The database clock was set forward, or back (negative value).",
    "clock differs": "The clock of this machine differs from the database clock by more than 30 s.",
    "runs replanned": "After a clock step, runs planned beyond what their schedule allows were planned again.",
    "ticks held": "The clock jumped forward; workflows wait until the new time is confirmed.",
    "ticks resumed": "The clock went back or was confirmed; workflows continue.",
    "migration waiting": "Another session holds a table that a migration changes; the migration is retried.",
    "proposals expired": "Proposals expired before a person decided; nothing was applied.",
    "history archived": "The runs or events of a day were written to the archive.",
    "history swept": "Runs, bodies or events past their retention were removed.",
    "partition dropped": "A partition of runs or events past its retention was dropped.",
    "partition kept": "A partition past its retention could not be dropped twice in a row: a transaction reads it.",
    "partition missing": "The partition for current runs does not exist; the next run tries to create it.",
    "second scheduler on sqlite": "Another scheduler uses the same SQLite file; use PostgreSQL for more than one.",
    "ticker started": "The ticker started to advance the executions of its partitions.",
    "ticker stopped": "The ticker stopped and released its partitions.",
    "ticks removed": "Ticks covered by a checkpoint were removed; a new checkpoint keeps what only they recorded.",
    "ticks kept": "Old ticks do not match their chain or checkpoint and were not removed; verify shows where.",
    "partition led": "This process became the writer of a partition, under this epoch.",
    "partition lost": "Another process took the partition over; unwritten work of this process was discarded.",
    "lock unavailable": "The Redis that tickers ask first does not respond; the database alone decides who leads.",
    "dispatcher started": "The dispatcher started to send effects of workflows.",
    "dispatcher stopped": "The dispatcher stopped; another process resends open effects or closes them as unknown.",
    "effect raised": "Sending an effect raised an exception instead of returning; recorded as a failure.",
    "channel opened": "An installed package provides a channel for workflow email.",
    "channel failed": "An installed channel could not be opened; steps that use it fail with this reason.",
    "triggers started": "Runs, rules and alerts can now start workflows.",
    "triggers stopped": "Triggers stopped; events that occur meanwhile are processed after the next start.",
    "trigger acted": "A trigger started an execution or sent an event to one.",
    "trigger refused": "A trigger could not start its execution; the event trigger.refused contains the reason.",
    "trigger failed": "Processing one event raised an exception; the event triggers nothing.",
    "configuration applied": "Documents of the watched directory were applied.",
    "configuration refused": "A document of the watched directory is invalid; the last applied state remains.",
    "library warned": "A library logged a message; the fields name the library and the text.",
    "loop blocked": "The event loop was blocked for a while.",
    "request": "A request was answered: method, path, status, principal, duration.",
    "request failed": "An internal error in a request; the response contains the same request id.",
    "planner started": "The planner started to judge finished runs.",
    "planner stopped": "The planner stopped.",
    "analyst started": "The analyst started to analyse endpoints with a language model.",
    "analyst stopped": "The analyst stopped.",
    "model unavailable": "The configured model cannot be used (`why`); rules and everything else work.",
    "model paused": "The model's server refused (`status_code`); no session starts for `seconds`.",
    "model process started": "The child process that runs the model library is ready.",
    "model process ended": "The child process exited or was killed; its sessions failed. The next session restarts it.",
    "model process sent invalid output": "The child process sent a malformed message and was terminated.",
    "sandbox timeout": "Reading or replaying a request took too long; its child process was terminated.",
    "sandbox ended": "The child process that read the content of a request ran out of memory or crashed.",
    "session failed": "A model session raised an exception; it is recorded as failed.",
    "page skipped": "Judging a page of finished runs raised an exception; no rule acted on them.",
    "notifier started": "The notifier started to read events and send messages.",
    "notifier stopped": "The notifier stopped; unfinished messages are sent again later with the same id.",
    "stream dropped": "An event stream was closed because its client did not read it.",
    "response not stored": "The response to a request with an Idempotency-Key was sent but could not be stored.",
    "tool failed": "An internal error in an MCP tool; the assistant was referred to this log.",
    "serving": "The web server listens on this address.",
}


class Spread:
    """Counts values in histogram buckets. One count takes a third of a microsecond, so every run can be counted."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def count(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Metrics:
    """Holds the metrics of one process as plain attributes that workers change and a scrape reads.

    `METRICS` maps them to Prometheus names. The histograms are `Spread`s; the labelled counters are dictionaries.
    """

    def __init__(self) -> None:
        self.due = 0
        self.waiting: Counter[str] = Counter()
        self.in_flight = 0
        self.places = 0
        self.finish_queue = 0
        self.claimed: Counter[str] = Counter()
        self.finished: Counter[str] = Counter()
        self.superseded = 0
        self.abandoned = 0
        self.dropped = 0
        self.workers_lost = 0
        self.zombies = 0
        self.swept = 0
        self.deliveries: Counter[str] = Counter()
        self.deliveries_overdue = 0
        self.database_up = 0
        self.clock_steps: Counter[str] = Counter()
        self.clock_skew_seconds = 0.0
        self.turns = 0
        self.step_downs = 0
        self.events_ignored = 0
        self.executions_overdue = 0
        self.tick_lag = 0.0
        self.partitions_unwritten = 0
        self.effect_age = 0.0
        self.effects: Counter[str] = Counter()
        self.tick_seconds = Spread(DURATION_BUCKETS_S)
        self.judged = 0
        self.fired = 0
        self.event_lag = 0.0
        self.dead_rows = 0
        self.run_room = 0.0
        self.partitions_kept = 0
        self.lateness = Spread(LATENESS_BUCKETS_S)
        self.duration = Spread(DURATION_BUCKETS_S)

    def collect(self) -> Iterator[Metric]:
        """Implements the collector interface of a Prometheus registry."""
        for attribute, (kind, name, meaning, label) in METRICS.items():
            value = getattr(self, attribute)
            if kind == "gauge" and label:
                gauges = GaugeMetricFamily(name, meaning, labels=[label])
                for text, count in value.items():
                    gauges.add_metric([text], count)
                yield gauges
            elif kind == "gauge":
                yield GaugeMetricFamily(name, meaning, value)
            elif kind == "histogram":
                total, buckets = 0, []
                for bound, count in zip((*value.bounds, "+Inf"), value.counts, strict=True):
                    total += count
                    buckets.append((str(bound), total))
                yield HistogramMetricFamily(name, meaning, buckets, value.sum)
            elif label:
                family = CounterMetricFamily(name, meaning, labels=[label])
                for text, count in value.items():
                    family.add_metric([text], count)
                yield family
            else:
                yield CounterMetricFamily(name, meaning, value)

    def registry(self) -> CollectorRegistry:
        registry = CollectorRegistry()
        registry.register(self)
        return registry


METRICS = {  # attribute: (kind, name, meaning, label)
    "due": ("gauge", "mainspring_due", "Endpoints overdue by more than the threshold.", ""),
    "waiting": (
        "gauge",
        "mainspring_waiting",
        "Late endpoints by what they wait for: a host, a rate, a tenant, a place or a scheduler.",
        "cause",
    ),
    "in_flight": ("gauge", "mainspring_in_flight", "Runs in flight in this process.", ""),
    "places": ("gauge", "mainspring_places", "Maximum concurrent runs of this process.", ""),
    "finish_queue": ("gauge", "mainspring_finish_queue", "Results waiting to be recorded.", ""),
    "claimed": ("counter", "mainspring_claimed", "Slots claimed.", "trigger"),
    "finished": ("counter", "mainspring_finished", "Runs recorded.", "status"),
    "superseded": ("counter", "mainspring_superseded", "Results that arrived after a takeover.", ""),
    "abandoned": ("counter", "mainspring_abandoned", "Slots taken over from lost workers.", ""),
    "dropped": ("counter", "mainspring_dropped", "Results dropped because their lease ended.", ""),
    "workers_lost": ("counter", "mainspring_workers_lost", "Dead processes whose work this process released.", ""),
    "zombies": ("counter", "mainspring_zombies", "Runs closed by the janitor.", ""),
    "swept": ("counter", "mainspring_swept", "Rows removed by retention.", ""),
    "deliveries": (
        "counter",
        "mainspring_deliveries",
        "Attempts to deliver a message, by outcome.",
        "status",
    ),
    "deliveries_overdue": (
        "gauge",
        "mainspring_deliveries_overdue",
        "Deliveries overdue by more than a minute.",
        "",
    ),
    "turns": ("counter", "mainspring_turns", "Turns of executions.", ""),
    "step_downs": ("counter", "mainspring_step_downs", "Partitions lost to another process.", ""),
    "executions_overdue": (
        "gauge",
        "mainspring_executions_overdue",
        "Executions overdue by more than a minute.",
        "",
    ),
    "tick_lag": (
        "gauge",
        "mainspring_tick_lag_seconds",
        "How long the oldest workflow work waits for its tick.",
        "",
    ),
    "partitions_unwritten": (
        "gauge",
        "mainspring_partitions_unwritten",
        "Partitions with waiting work and no writer.",
        "",
    ),
    "effect_age": (
        "gauge",
        "mainspring_effect_age_seconds",
        "How long the oldest effect waits to be sent.",
        "",
    ),
    "events_ignored": (
        "counter",
        "mainspring_events_ignored",
        "Events that executions refused, for example because a queue was full.",
        "",
    ),
    "effects": ("counter", "mainspring_effects", "Effects with an answer.", "outcome"),
    "tick_seconds": ("histogram", "mainspring_tick_seconds", "Duration of a tick, including the commit.", ""),
    "database_up": ("gauge", "mainspring_database_up", "1 while the database responds.", ""),
    "clock_steps": ("counter", "mainspring_clock_steps", "Detected steps of the database clock.", "direction"),
    "clock_skew_seconds": (
        "gauge",
        "mainspring_clock_skew_seconds",
        "How far the clock of this machine is ahead of the database clock.",
        "",
    ),
    "judged": ("counter", "mainspring_judged", "Finished runs that rules have judged.", ""),
    "fired": ("counter", "mainspring_fired", "Rules that fired.", ""),
    "event_lag": (
        "gauge",
        "mainspring_event_lag_seconds",
        "Age of the oldest committed event that is not readable yet because an earlier transaction is still open.",
        "",
    ),
    "dead_rows": (
        "gauge",
        "mainspring_dead_rows",
        "Dead row versions of endpoint state that PostgreSQL has not removed; queries for due endpoints scan them.",
        "",
    ),
    "run_room": (
        "gauge",
        "mainspring_run_room_seconds",
        "For how long PostgreSQL has partitions for the runs to come; 0 on SQLite, which needs none.",
        "",
    ),
    "partitions_kept": (
        "gauge",
        "mainspring_partitions_kept",
        "Partitions past their retention that could not be dropped, because a transaction reads them.",
        "",
    ),
    "lateness": ("histogram", "mainspring_lateness_seconds", "Time from the slot to the start of its call.", ""),
    "duration": ("histogram", "mainspring_call_seconds", "Duration of calls.", ""),
}


def set_up_logging(style: Literal["auto", "json", "console"], level: str) -> None:
    """Logs JSON lines for machines or coloured lines for a terminal, on standard error so that output stays clean.

    Each line is written with its newline in one call, so a killed process leaves no partial line.
    """
    as_json = style == "json" or (style == "auto" and not sys.stderr.isatty())
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.EventRenamer("event"),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[_Relay(logging.WARNING)])


class _Relay(logging.Handler):
    """Turns text and multi-line tracebacks of libraries into one log event."""

    def emit(self, record: logging.LogRecord) -> None:
        fault = record.exc_info if record.exc_info and record.exc_info[0] else None
        said = record.getMessage()
        structlog.get_logger().warning("library warned", library=record.name, text=said, exc_info=fault)
