"""What the program says about itself: log events and metrics, by the names used nowhere else.

A log line is an event name and fields, never a sentence built from values; secrets and bodies never enter one.
`docs/reference/observability.md` is generated from the tables here.
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
    "scheduler started": "The scheduler looks for due endpoints from now on.",
    "scheduler stopped": "It ended: drained, or after its grace.",
    "places reduced": "The limit on open files allows fewer runs in flight than MAINSPRING_CONCURRENCY asks for.",
    "draining": "No more claims; runs in flight may end within the grace.",
    "slots released": "Runs that did not end within the grace were given back.",
    "database away": "The database does not answer; results are kept and it is tried again.",
    "database gone": "The database file was deleted or replaced; the process ends.",
    "database back": "It answers again.",
    "result dropped": "A result could not be recorded before its lease ended; the slot runs again.",
    "result unstorable": "The database refused one result; it was stored without its body.",
    "result superseded": "A result came after another worker had taken its slot over.",
    "call raised": "Calling an endpoint raised where it should have returned; recorded as a failure.",
    "worker failed": "A worker's round raised; it goes on after a pause.",
    "endpoints late": "The watchdog found endpoints that were due and did not start in time.",
    "endpoints on time again": "Nothing waits any more.",
    "worker lost": "A process died; everything it held was freed: how much that was, of all that died together.",
    "executions overdue": "Executions of workflows should have moved a minute ago and did not.",
    "executions on time again": "No execution is overdue any more.",
    "partitions adopted": "A ticker writes partitions beyond the configured number, in which executions wait.",
    "events held back": "A transaction that wrote events has not ended; rules, alerts and webhooks wait for it.",
    "events flow again": "It has ended, and what it held back can be read.",
    "endpoints waiting": "Endpoints that are late wait for this: a host, a rate, a tenant's cap or a place.",
    "zombies closed": "Runs that nobody finished were closed as timeouts.",
    "clock stepped": "The database's clock was set: ahead, or back with a negative sign.",
    "clock differs": "This machine's clock differs from the database's by more than 30 s.",
    "runs replanned": "Runs that lay beyond what their schedule allows were planned again after a step of the clock.",
    "ticks held": "The clock jumped ahead; workflows wait until it is confirmed.",
    "ticks go on": "The clock came back or was confirmed; workflows go on.",
    "migration waits": "Another session holds a table that a migration changes; the migration is tried again.",
    "proposals expired": "Proposals of the mode ask expired before a person decided; nothing was applied.",
    "history swept": "Runs, bodies or events beyond their retention were removed.",
    "second scheduler on sqlite": "Another scheduler uses the same SQLite file; use PostgreSQL for more than one.",
    "ticker started": "The ticker moves the executions of its partitions from now on.",
    "ticker stopped": "It ended, and let others lead.",
    "ticks forgotten": "Ticks that a checkpoint stands for were removed; what only they said stands in a new one.",
    "ticks kept": "Old ticks do not fit their chain or their checkpoint, so they were not removed; verify says where.",
    "partition led": "This process writes a partition from now on, under this epoch.",
    "partition lost": "Another process writes the partition; what this one had in hand was not written.",
    "lock away": "The Redis that tickers ask first does not answer; the database alone decides who leads.",
    "dispatcher started": "Effects of workflows are sent from now on.",
    "dispatcher stopped": "It ended; what was not answered is sent again, or closed as unknown, by another.",
    "effect failed inside": "Sending an effect raised where it should have returned; recorded as a failure.",
    "channel opened": "An installed package brings a channel for letters of workflows.",
    "channel broken": "An installed channel could not be opened; steps that name it fail and say so.",
    "starter started": "Runs, rules and alerts start workflows from now on.",
    "starter stopped": "It ended; what happens meanwhile is looked at when one runs again.",
    "trigger acted": "Something that happened started an execution, or was told to one.",
    "trigger refused": "It should have, and could not; the event trigger.refused tells why.",
    "trigger failed": "Looking at one event raised where it should not; it triggers nothing.",
    "configuration applied": "Documents of the watched folder were applied.",
    "configuration refused": "A document of the watched folder is broken; what was applied before stays.",
    "library warned": "A library we use has something to say: which one, and what.",
    "loop blocked": "The event loop did not get its turn for a while.",
    "request": "A request was answered: method, path, status, who asked, how long it took.",
    "request failed": "A mistake of ours in a request; its answer names the same request id.",
    "planner started": "The planner judges finished runs from now on.",
    "planner stopped": "It ended.",
    "analyst started": "A language model looks at endpoints from now on.",
    "analyst stopped": "It ended.",
    "model off": "The model that is configured cannot be used (`why`); rules and everything else work.",
    "model rests": "The model's server refused (`status_code`); no session begins for so many `seconds`.",
    "model process started": "The process in which a language model's library works is ready.",
    "model process ended": "It ended by itself, or was killed; its sessions failed, and the next one starts it again.",
    "model process raves": "It said what is no message of ours, and was ended.",
    "sandbox timeout": "Reading or replaying what a request sent took too long; its process was ended.",
    "sandbox ended": "A process that read what a request sent needed too much memory, or crashed.",
    "session failed": "A session with a model raised where it should not; it is recorded as failed.",
    "page skipped": "Judging a page of finished runs raised; its rules did not act on them.",
    "notifier started": "The notifier takes events in and sends messages from now on.",
    "notifier stopped": "It ended; messages under way that did not are sent again later, with the same id.",
    "stream dropped": "An event stream was ended, because its client did not read it.",
    "answer not kept": "The answer to a request with an Idempotency-Key was sent but could not be kept.",
    "tool failed": "A mistake of ours in an MCP tool; the assistant was told that it is logged here.",
    "serving": "The web server answers at this address.",
}


class Spread:
    """How values are spread over buckets: counting one costs a third of a microsecond, so every run can be counted."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def count(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Metrics:
    """One set of numbers per process: plain attributes that the workers change and a scrape reads.

    `METRICS` names them for Prometheus; the histograms are `Spread`s, the labelled counters are dictionaries.
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
        self.lateness = Spread(LATENESS_BUCKETS_S)
        self.duration = Spread(DURATION_BUCKETS_S)

    def collect(self) -> Iterator[Metric]:
        """What a Prometheus registry asks its collectors for."""
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
    "due": ("gauge", "mainspring_due", "Endpoints that are due for longer than they should be and not started.", ""),
    "waiting": (
        "gauge",
        "mainspring_waiting",
        "Late endpoints by what they wait for: a host, a rate, a tenant, a place or a scheduler.",
        "cause",
    ),
    "in_flight": ("gauge", "mainspring_in_flight", "Runs in flight in this process.", ""),
    "places": ("gauge", "mainspring_places", "Runs this process may have in flight.", ""),
    "finish_queue": ("gauge", "mainspring_finish_queue", "Results that wait to be recorded.", ""),
    "claimed": ("counter", "mainspring_claimed", "Slots claimed.", "trigger"),
    "finished": ("counter", "mainspring_finished", "Runs recorded.", "status"),
    "superseded": ("counter", "mainspring_superseded", "Results that came after a takeover.", ""),
    "abandoned": ("counter", "mainspring_abandoned", "Slots taken over from lost workers.", ""),
    "dropped": ("counter", "mainspring_dropped", "Results dropped when their lease ended.", ""),
    "workers_lost": ("counter", "mainspring_workers_lost", "Dead processes whose work this one has freed.", ""),
    "zombies": ("counter", "mainspring_zombies", "Runs closed by the janitor.", ""),
    "swept": ("counter", "mainspring_swept", "Rows removed by retention.", ""),
    "deliveries": (
        "counter",
        "mainspring_deliveries",
        "Attempts to deliver a message, by what became of it.",
        "status",
    ),
    "deliveries_overdue": (
        "gauge",
        "mainspring_deliveries_overdue",
        "Deliveries that are due for more than a minute and have not been sent.",
        "",
    ),
    "turns": ("counter", "mainspring_turns", "Turns that executions of workflows had.", ""),
    "step_downs": ("counter", "mainspring_step_downs", "Times another process had taken a partition over.", ""),
    "executions_overdue": (
        "gauge",
        "mainspring_executions_overdue",
        "Executions of workflows that should have moved a minute ago.",
        "",
    ),
    "tick_lag": (
        "gauge",
        "mainspring_tick_lag_seconds",
        "How long the oldest work of workflows waits for its tick.",
        "",
    ),
    "partitions_unwritten": (
        "gauge",
        "mainspring_partitions_unwritten",
        "Partitions in which work waits and that no ticker writes.",
        "",
    ),
    "effect_age": (
        "gauge",
        "mainspring_effect_age_seconds",
        "How long the oldest effect of a workflow waits to be sent.",
        "",
    ),
    "events_ignored": (
        "counter",
        "mainspring_events_ignored",
        "Events that executions refused, such as for a full queue.",
        "",
    ),
    "effects": ("counter", "mainspring_effects", "Effects of workflows that were answered.", "outcome"),
    "tick_seconds": ("histogram", "mainspring_tick_seconds", "How long a tick took, commit included.", ""),
    "database_up": ("gauge", "mainspring_database_up", "1 while the database answers.", ""),
    "clock_steps": ("counter", "mainspring_clock_steps", "Times the database's clock was set.", "direction"),
    "clock_skew_seconds": (
        "gauge",
        "mainspring_clock_skew_seconds",
        "How far this machine's clock is ahead of the database's.",
        "",
    ),
    "judged": ("counter", "mainspring_judged", "Finished runs that rules have judged.", ""),
    "fired": ("counter", "mainspring_fired", "Rules that fired.", ""),
    "event_lag": (
        "gauge",
        "mainspring_event_lag_seconds",
        "Age of the oldest committed event that readers cannot see yet, because a writer before it has not ended.",
        "",
    ),
    "dead_rows": (
        "gauge",
        "mainspring_dead_rows",
        "Old versions of endpoints' state that PostgreSQL has not removed; looks for due endpoints pass them.",
        "",
    ),
    "lateness": ("histogram", "mainspring_lateness_seconds", "From the slot to the start of its call.", ""),
    "duration": ("histogram", "mainspring_call_seconds", "How long calls took.", ""),
}


def set_up_logging(style: Literal["auto", "json", "console"], level: str) -> None:
    """JSON lines for machines, colours for a terminal; on standard error, so that output stays output.

    Each line is written with its end at once: a process that is killed leaves no half line to the next.
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
    """Libraries write text, and tracebacks of many lines; here it is one event like any other."""

    def emit(self, record: logging.LogRecord) -> None:
        fault = record.exc_info if record.exc_info and record.exc_info[0] else None
        said = record.getMessage()
        structlog.get_logger().warning("library warned", library=record.name, text=said, exc_info=fault)
