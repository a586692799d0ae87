"""Fixtures every test may use.

postgres_cluster    a running private PostgreSQL, one per test process; `Cluster(fsync=True)` makes your own
postgres_url        the URL of an empty database at the newest schema; what a test leaves in it is swept out
postgres_empty_url  the same without a schema, for tests of the migrations
processes           starts real worker processes and ends them
long_run            True under `make faults` (pytest --long): run the long version of a fault test
fuzz_minutes        how long the long fuzz test fuzzes each database (pytest --fuzz-minutes)
"""

import gc
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
import structlog
from hypothesis import HealthCheck, settings
from structlog.dev import ConsoleRenderer
from structlog.processors import TimeStamper, add_log_level, format_exc_info

from mainspring.stores.postgres import database
from tests.harness import template
from tests.harness.database_pool import Shelf
from tests.harness.postgres import Cluster
from tests.harness.process_reaper import undertaker
from tests.harness.processes import Processes

# Two busy cores make any deadline a coin toss; derandomised, a red run is red again on the next machine.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# The stores of a test's own process: a server that shares two busy cores may take longer to answer than a user waits.
database.CONNECT_TIMEOUT_S = database.ACQUIRE_TIMEOUT_S = 60

gc.disable()  # while tests are collected: nothing of that is garbage

TEMPLATE = "mainspring_template"
database_numbers = count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long versions of fault and property tests")
    parser.addoption("--fuzz-minutes", type=float, default=60, help="how long test_fuzz.py fuzzes each database")


def pytest_configure(config: pytest.Config) -> None:
    default = "long" if config.getoption("--long") else "ci"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", default))
    # As in the product, a logged exception is plain text. structlog's default draws all local variables, which is slow.
    structlog.configure(processors=[add_log_level, TimeStamper(), format_exc_info, ConsoleRenderer(colors=False)])


def pytest_collection_finish() -> None:
    """Leave what was collected out of garbage collection: it lives until the end, and thousands of tests would pay."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    undertaker.close()


@pytest.fixture(scope="session")
def long_run(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--long"))


@pytest.fixture(scope="session")
def fuzz_minutes(pytestconfig: pytest.Config) -> float:
    return float(pytestconfig.getoption("--fuzz-minutes"))


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def postgres_template(postgres_cluster: Cluster) -> str:
    url = postgres_cluster.create_database(TEMPLATE)
    with ThreadPoolExecutor(1) as thread:  # filling may run an event loop of its own, and this thread may have one
        thread.submit(template.fill, url).result()
    return TEMPLATE


@pytest.fixture(scope="session")
def postgres_shelf(postgres_cluster: Cluster, postgres_template: str) -> Shelf:
    return Shelf(postgres_cluster, postgres_template)


@pytest.fixture
def postgres_url(postgres_shelf: Shelf) -> Iterator[str]:
    name, url = postgres_shelf.take()
    yield url
    postgres_shelf.give_back(name)


@pytest.fixture
def postgres_empty_url(postgres_cluster: Cluster) -> Iterator[str]:
    name = f"test_{next(database_numbers)}"
    yield postgres_cluster.create_database(name)
    drop_if_possible(postgres_cluster, name)


@pytest.fixture
def processes() -> Iterator[Processes]:
    with Processes() as started:
        yield started


def drop_if_possible(cluster: Cluster, name: str) -> None:
    """Drop a test's database; a test that failed with the server stopped must not fail its neighbours too."""
    if not cluster.is_running:
        cluster.start()
    cluster.drop_database(name)
