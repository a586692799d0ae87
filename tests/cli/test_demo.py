"""The demo as a stranger starts it: a real process, its story to the end, and nothing left of it."""

import json
import signal
import urllib.request
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.harness.processes import Process, Processes
from tests.harness.waiting import wait_until

SPEED = 60  # forty minutes in forty seconds: hints cannot be quicker than a second
ADAPTED = ("ai-interval", "ai-oneshot")
STORY_S = 90.0  # two days of the shop and more


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where temporary files go; what lies there in the end was left behind."""
    return tmp_path


def start(processes: Processes, folder: Path) -> tuple[Process, str]:
    env = {"TMPDIR": str(folder), "MAINSPRING_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/production"}
    process = processes.start("demo", "--speed", str(SPEED), env=env)
    return process, process.wait_for("Open http").strip().removeprefix("Open ").removesuffix("/demo")


def read(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def is_rule(name: str, endpoint: str) -> Callable[[Any], bool]:
    return lambda event: (event["endpoint"], event["actor"]) == (endpoint, f"rule:{name}")


def test_demo_shows_surge_adaptation_woken_alert_and_recovery_and_leaves_nothing(
    processes: Processes, folder: Path
) -> None:
    process, url = start(processes, folder)

    events: list[Any] = []
    where = "start=oldest"

    def fired(name: str, endpoint: str) -> list[Any]:
        nonlocal where
        page = read(f"{url}/api/v1/events?limit=200&{where}")
        where = f"cursor={page['next_cursor']}"
        events.extend(page["items"])
        return [event for event in events if event["type"] == "rule.fired" and is_rule(name, endpoint)(event)]

    wait_until(lambda: fired("surge", "traffic_monitor"), "the surge is answered", STORY_S)
    # Where a run was under way when the rule fired, the hint decides from its end on.
    wait_until(lambda: read(f"{url}/api/v1/endpoints/traffic_monitor")["source"] in ADAPTED, "it adapts", STORY_S)
    wait_until(lambda: fired("wake", "slow_page_analyzer"), "an investigator is woken", STORY_S)
    wait_until(lambda: fired("page", "emergency_oncall_page"), "somebody is paged", STORY_S)
    told = wait_until(lambda: read(f"{url}/api/v1/demo")["messages"], "the alert arrives", STORY_S)
    wait_until(lambda: fired("sleep", "slow_page_analyzer"), "the investigator sleeps again", STORY_S)
    wait_until(lambda: fired("calm", "traffic_monitor"), "the traffic is normal again", STORY_S)
    asleep = read(f"{url}/api/v1/endpoints/slow_page_analyzer")
    alerts = [datetime.fromisoformat(event["at"]) for event in fired("alert", "slack_operations")]
    process.send(signal.SIGINT)

    assert process.wait() == 0
    assert "checkout" in told[-1]["title"]
    assert asleep["paused_until"] is not None
    assert alerts
    assert all(after - before >= timedelta(minutes=5) / SPEED for before, after in pairwise(alerts))
    assert any(event["type"] == "execution.ended" for event in events)
    assert "Traceback" not in process.output
    assert list(folder.iterdir()) == []


def test_demo_needs_no_login_but_listens_on_loopback_alone_and_says_that_it_is_one(
    processes: Processes, folder: Path
) -> None:
    (folder / "mainspring-demo-999999999-left").mkdir()  # by one that was killed

    process, url = start(processes, folder)
    session = read(f"{url}/api/v1/auth/session")

    assert url.startswith("http://127.0.0.1:")
    assert (session["actor"], session["demo"]) == ("visitor", True)
    assert process.terminate() == 0
    assert list(folder.iterdir()) == []


def test_demo_that_is_ended_while_it_starts_leaves_nothing(processes: Processes, folder: Path) -> None:
    process = processes.start("demo", env={"TMPDIR": str(folder)})
    wait_until(lambda: list(folder.iterdir()), "it has made its folder")

    process.terminate()

    assert list(folder.iterdir()) == []


def test_demo_that_is_told_twice_to_end_leaves_nothing(processes: Processes, folder: Path) -> None:
    process, _ = start(processes, folder)

    process.send(signal.SIGINT)
    process.send(signal.SIGINT)
    process.wait()

    assert list(folder.iterdir()) == []
