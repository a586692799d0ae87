"""What the program says about itself: log events and metrics, by the names used nowhere else.

A log line is an event name and fields, never a sentence built from values; secrets and bodies never enter one.
`docs/reference/observability.md` is generated from the tables here.
"""

import logging
import sys
from typing import Literal

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

LATENESS_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 3600)
DURATION_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600)

LOG_EVENTS = {
    "scheduler started": "The scheduler looks for due endpoints from now on.",
    "scheduler stopped": "It ended: drained, or after its grace.",
    "draining": "No more claims; runs in flight may end within the grace.",
    "slots released": "Runs that did not end within the grace were given back.",
    "database away": "The database does not answer; results are kept and it is tried again.",
    "database back": "It answers again.",
    "result dropped": "A result could not be recorded before its lease ended; the slot runs again.",
    "result unstorable": "The database refused one result; it was stored without its body.",
    "result superseded": "A result came after another worker had taken its slot over.",
    "call raised": "Calling an endpoint raised where it should have returned; recorded as a failure.",
    "worker failed": "A worker's round raised; it goes on after a pause.",
    "endpoints late": "The watchdog found endpoints that were due and did not start in time.",
    "endpoints on time again": "Nothing waits any more.",
    "zombies closed": "Runs that nobody finished were closed as timeouts.",
    "history swept": "Runs, bodies or events beyond their retention were removed.",
    "second scheduler on sqlite": "Another scheduler uses the same SQLite file; use PostgreSQL for more than one.",
    "loop blocked": "The event loop did not get its turn for a while.",
    "serving": "The web server answers at this address.",
}


class Metrics:
    """One set of metrics per process, in a registry of its own so that tests can have many."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.due = Gauge("mainspring_due", "Endpoints due and not started, at the last look.", registry=self.registry)
        self.in_flight = Gauge("mainspring_in_flight", "Runs in flight in this process.", registry=self.registry)
        self.places = Gauge("mainspring_places", "Runs this process may have in flight.", registry=self.registry)
        self.finish_queue = Gauge(
            "mainspring_finish_queue", "Results that wait to be recorded.", registry=self.registry
        )
        self.claimed = Counter("mainspring_claimed", "Slots claimed.", ["trigger"], registry=self.registry)
        self.finished = Counter("mainspring_finished", "Runs recorded.", ["status"], registry=self.registry)
        self.superseded = Counter(
            "mainspring_superseded", "Results that came after a takeover.", registry=self.registry
        )
        self.abandoned = Counter("mainspring_abandoned", "Slots taken over from lost workers.", registry=self.registry)
        self.dropped = Counter(
            "mainspring_dropped", "Results dropped at the end of their lease.", registry=self.registry
        )
        self.zombies = Counter("mainspring_zombies", "Runs closed by the janitor.", registry=self.registry)
        self.swept = Counter("mainspring_swept", "Rows removed by retention.", registry=self.registry)
        self.late = Gauge("mainspring_late", "Endpoints the watchdog found late.", registry=self.registry)
        self.database_up = Gauge("mainspring_database_up", "1 while the database answers.", registry=self.registry)
        self.lateness = Histogram(
            "mainspring_lateness_seconds",
            "From the slot to the start of its call.",
            buckets=LATENESS_BUCKETS_S,
            registry=self.registry,
        )
        self.duration = Histogram(
            "mainspring_call_seconds", "How long calls took.", buckets=DURATION_BUCKETS_S, registry=self.registry
        )


def set_up_logging(style: Literal["auto", "json", "console"], level: str) -> None:
    """JSON lines for machines, colours for a terminal; on standard error, so that output stays output."""
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
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
