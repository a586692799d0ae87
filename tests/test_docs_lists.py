"""The pages about rules and workflows list every name, field, function, limit and error code that the code has."""

import re
from pathlib import Path

import pytest

from mainspring.domain.errors import AdviceRefused, InvalidInput, QuotaExceeded
from mainspring.domain.expressions.window_functions import FUNCTIONS
from mainspring.domain.rules import fields, run_window
from mainspring.domain.rules.rule import VARIABLES
from mainspring.operations import rules
from mainspring.workflow import engine

ROOT = Path(__file__).parents[1]
PLANNER = (ROOT / "docs/planner.md").read_text()
WORKFLOWS = (ROOT / "docs/workflows.md").read_text()
SHAPES = {
    "runs": fields.RUN_FIELDS,
    "schedule": fields.SCHEDULE_FIELDS,
    "health.h24": fields.HEALTH_FIELDS,
    "siblings.NAME": fields.SIBLING_FIELDS,
}
LIMITS = [
    f"the newest {run_window.RUNS_MAX:,} of the span",
    f"{run_window.BYTES_MAX // 1000} kB",
    f"{run_window.SPAN_MS_MAX // 3_600_000} hours",
    f"the newest {rules.TEST_RUNS_MAX:,} runs of the job",
]


def row_of(page: str, name: str) -> str:
    """The line of a table whose first cell has the name."""
    (row,) = [line for line in page.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1]]
    return row


@pytest.mark.parametrize("name", sorted(VARIABLES - {"window", "health", "siblings"}))
def test_every_name_that_a_rule_may_read_is_listed(name: str) -> None:
    assert row_of(PLANNER, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_rules_is_listed(name: str) -> None:
    assert f"`{name}(list" in PLANNER


@pytest.mark.parametrize("name", SHAPES)
def test_every_field_of_known_shape_is_listed(name: str) -> None:
    row = row_of(PLANNER, name)

    assert [field for field in SHAPES[name] if f"`{field}`" not in row] == []


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_of_windows_and_tests_are_stated(limit: str) -> None:
    assert limit in PLANNER


def test_every_error_code_of_a_step_is_listed() -> None:
    sources = [ROOT / "src/mainspring/workflow/engine.py", ROOT / "src/mainspring/workflow/waits.py"]
    sources += [*(ROOT / "src/mainspring/workers/effects").glob("*.py"), ROOT / "src/mainspring/workers/dispatcher.py"]
    text = "\n".join(source.read_text() for source in sources)
    codes = set(re.findall(r'(?:fail|stop|NoTarget)\("(\w+)"', text)) | set(re.findall(r'"code": "(\w+)"', text))
    codes |= {each.code for each in (AdviceRefused, InvalidInput, QuotaExceeded)}  # of a hint that is refused
    unknown = {"lost_sender"}  # a step sees it as `unknown`
    table = WORKFLOWS.partition("`steps.<id>.error` is")[2].partition("\n## ")[0]

    assert len(codes) > 10
    assert sorted(code for code in codes - unknown if f"`{code}`" not in table) == []


def test_bounds_of_queued_events_are_stated() -> None:
    assert f"{engine.QUEUE_MAX:,} events of a type are queued" in WORKFLOWS
    assert f"the execution has {engine.EVENT_TYPES_MAX} event types" in WORKFLOWS
