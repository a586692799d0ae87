"""The queries of PostgreSQL by name, and the fragments that are inserted into them when the module is imported.

A query is written as a whole, except for these: lists of columns, which follow the structs in `rows`, so that a query
and its values always agree; conditions that both databases share or that contain a constant of the domain; and numbers
of locks. A fragment is a constant: no value of a caller ever becomes part of a query.
"""

from collections.abc import Iterable, Sequence

import msgspec

from mainspring.domain.schedule.fairness import SLOW_AFTER_MS, EndpointPace
from mainspring.stores.account_rows import ACCOUNT_FRAGMENTS
from mainspring.stores.due_windows import WINDOW_MIN
from mainspring.stores.lists import look_fragments
from mainspring.stores.maintenance import MAINTENANCE_FRAGMENTS
from mainspring.stores.model_sessions import ANALYSIS_COLUMNS
from mainspring.stores.proposals import PROPOSAL_FRAGMENTS
from mainspring.stores.queries import LISTS, load_queries
from mainspring.stores.rows import (
    CONFIG_COLUMNS,
    ENDPOINT_COLUMNS,
    EVENT_COLUMNS,
    HAS_RESULT,
    JOB_COLUMNS,
    LEASE_COLUMNS,
    OUTCOME_COLUMNS,
    RESULT_COLUMNS,
    RUN_COLUMNS,
    RUN_SUMMARY_COLUMNS,
    STATE_COLUMNS,
    qualified,
)

PACKAGE = "mainspring.stores.postgres"
IDLE_LIMIT = "10s"  # of a transaction whose process is stopped: other work waits for its locks
CLAIM_LOCK = 0x6D61696E737063  # "mainspc"
LANE_CLASS = 0x6D736C6E  # "msln": the first half of the locks of lanes
LANES = 64  # more than workers that one server can serve; a power of two
QUEUE_MAX = 16  # due endpoints in its lanes up to which a worker still helps others: on a busy machine all are late
PRESENCE_CLASS = 0x6D737072  # "mspr": the first half of the locks that show which processes are alive
_encode = msgspec.json.Encoder().encode
_BOOLEANS = {"job_active", "body_truncated", "advice_may_resume"}
_INTEGERS = {
    "failure_count", "hint_interval_ms", "attempt", "claim_epoch", "lost_count", "duration_ms", "status_code",
    "missed_count", "body_seen", "revision", "last_duration_ms", "failed_attempts",
}  # fmt: skip


def _type(column: str) -> str:
    if column in _BOOLEANS:
        return "boolean"
    if column in _INTEGERS:
        return "bigint"
    if column == "body":
        return "bytea"
    return "timestamptz" if column == "at" or column.endswith(("_at", "_until", "_before")) else "text"


def _rows(parameter: str, columns: Iterable[str], *also: str) -> str:
    """The rows of a JSON parameter, with further values next to each, as a table `new`; see `as_json`.

    OFFSET 0 keeps the reading of JSON out of the statement's conditions: behind row-level security an index is only
    used for conditions that are leakproof, and functions of JSON are not.
    """
    values = [f"(value->>{place})::{_type(column)} AS {column}" for place, column in enumerate(columns)]
    arrays = [f"unnest(:{each}::{_type(each)}[])" for each in also]
    sources = ", ".join((f"jsonb_array_elements(:{parameter}::text::jsonb)", *arrays))
    given = f"ROWS FROM ({sources}) AS given ({', '.join(('value', *also))})"
    return f"(SELECT {', '.join((*values, *also))} FROM {given} OFFSET 0) AS new"


def _from_new(columns: Iterable[str]) -> str:
    return ", ".join(f"{column} = new.{column}" for column in columns)


def _parameters(columns: Iterable[str]) -> str:
    return ", ".join(f":{column}" for column in columns)


QUERIES = load_queries(
    PACKAGE,
    {
        **{f"in_{each}": f"= ANY (:{each}::text[])" for each in LISTS},
        "endpoint_columns": ", ".join(qualified(ENDPOINT_COLUMNS)),
        "config_columns": ", ".join(CONFIG_COLUMNS),
        "config_parameters": _parameters(CONFIG_COLUMNS),
        "config_assignments": ", ".join(f"{column} = :{column}" for column in CONFIG_COLUMNS[1:]),
        "lease_assignments": _from_new(LEASE_COLUMNS),
        "lease_rows": _rows("leases", (*LEASE_COLUMNS, "id", "revision")),
        "outcome_assignments": _from_new(OUTCOME_COLUMNS),
        "outcome_rows": _rows("outcomes", (*OUTCOME_COLUMNS, "id", "revision")),
        "state_columns": ", ".join(STATE_COLUMNS),
        "state_parameters": _parameters(STATE_COLUMNS),
        "state_assignments": _from_new(STATE_COLUMNS),
        "state_rows": _rows("states", (*STATE_COLUMNS, "id")),
        "run_summary": ", ".join(f"run.{column}" for column in RUN_SUMMARY_COLUMNS),
        **look_fragments("strpos", "action::json"),
        "run_columns": ", ".join(RUN_COLUMNS),
        "run_parameters": _parameters(RUN_COLUMNS),
        "run_rows": _rows("runs", RUN_COLUMNS),
        "result_assignments": _from_new(RESULT_COLUMNS[2:]),
        "result_rows": _rows("results", RESULT_COLUMNS[:-1], "body"),
        "event_columns": ", ".join(EVENT_COLUMNS),
        "event_rows": _rows("events", EVENT_COLUMNS),
        "job_columns": ", ".join(JOB_COLUMNS),
        "job_parameters": _parameters(JOB_COLUMNS),
        "analysis_columns": ", ".join(ANALYSIS_COLUMNS),
        "analysis_parameters": _parameters(ANALYSIS_COLUMNS),
        "claim_lock": str(CLAIM_LOCK),
        "lane_class": str(LANE_CLASS),
        "queue_max": str(QUEUE_MAX),
        "window": str(WINDOW_MIN),
        "lane": f"(hashtext(host) & {LANES - 1})",
        "presence_class": str(PRESENCE_CLASS),
        "is_slow": f"((last_duration_ms < {SLOW_AFTER_MS}) IS NOT TRUE)",  # or new
        "pace": f"(CASE WHEN last_duration_ms IS NULL THEN {EndpointPace.NEW:d} WHEN "
        f"last_duration_ms < {SLOW_AFTER_MS} THEN {EndpointPace.QUICK:d} ELSE {EndpointPace.SLOW:d} END)",
        "idle_limit": IDLE_LIMIT,
        "has_result": HAS_RESULT,
        **ACCOUNT_FRAGMENTS,
        **PROPOSAL_FRAGMENTS,
        **MAINTENANCE_FRAGMENTS,
    },
    "$",
)


def as_json(rows: Sequence[Sequence[object]]) -> str:
    """Rows as one parameter. For both sides this costs a third of arrays, one per column."""
    return _encode(rows).decode()


def columns(rows: Sequence[Sequence[object]], width: int) -> list[list[object]]:
    """Rows turned into one array per column, as unnest takes them."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
