"""Fixtures of the fault tests.

stage       a fresh database of either kind, with a folder for keys and logs; `postgres_stage` for PostgreSQL alone
journal     a target that writes down what it received before it answers
seed        what decides when and where the faults strike; FAULTS_SEED=17 repeats a run's choices
figures     says what happened: printed, and summed up after `make faults`
long_only   skips a test that has no short version; named first, so that nothing is set up for it
pace        how much longer things took than on a machine of their own, and what that makes of a promise
"""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.stage import Stage
from tests.harness.pace import Pace
from tests.peers.journal import Journal
from tests.stores.databases import clock, other_stores, shared_postgres_url, store_url, stores

__all__ = ["clock", "other_stores", "shared_postgres_url", "store_url", "stores"]

Figures = Callable[..., None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "faults" in item.path.parts:
            item.add_marker(pytest.mark.faults)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        f"{report.nodeid.partition('::')[2]}: {value}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == "figures"
    ]
    if lines:
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture
def seed() -> int:
    return int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1_000_000))


@pytest.fixture
def figures(seed: int, record_property: Callable[[str, object], None]) -> Figures:
    def say(**values: object) -> None:
        text = " ".join(f"{name}={value}" for name, value in {"seed": seed, **values}.items())
        print(text)
        record_property("figures", text)

    return say


@pytest.fixture
def long_only(long_run: bool) -> None:
    if not long_run:
        pytest.skip("takes minutes at the default settings: `make faults` runs it")


@pytest.fixture
def pace() -> Iterator[Pace]:
    with Pace() as pace:
        yield pace


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal") as journal:
        yield journal


@pytest.fixture
def postgres_stage(postgres_url: str, tmp_path: Path) -> Stage:
    return Stage(postgres_url, tmp_path)


@pytest.fixture
def sqlite_stage(tmp_path: Path) -> Stage:
    return Stage(f"sqlite://{tmp_path}/mainspring.db", tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def stage(request: pytest.FixtureRequest) -> Stage:
    found = request.getfixturevalue(f"{request.param}_stage")
    assert isinstance(found, Stage)
    return found
