"""The demo and the simulation as somebody meets them in a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests.browser.site import START_S, require
from tests.browser.tab import PATIENCE_MS, serious
from tests.harness.processes import Processes

STORY_MS = 120_000


@pytest.fixture
def demo_url(tmp_path: Path) -> Iterator[str]:
    require()
    with Processes() as processes:
        demo = processes.start("demo", "--speed", "60", env={"TMPDIR": str(tmp_path)})
        yield demo.wait_for("Open http", START_S).strip().removeprefix("Open ")
        assert demo.terminate() == 0


def test_demo_shows_its_day_marked_as_demo_without_login(browser: Browser, demo_url: str) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    faults: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            faults.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(demo_url)
    expect(page.get_by_role("note", name="Demo")).to_be_visible()
    expect(page.get_by_role("img", name="traffic_monitor:")).to_be_visible()
    adapted = page.get_by_role("listitem").filter(has_text="Adaptation")
    expect(adapted.get_by_label("seen")).to_be_visible(timeout=STORY_MS)
    expect(adapted).to_contain_text("visitors a minute and more")
    light = serious(page)
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    dark = serious(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    page.get_by_role("link", name="traffic_monitor").click()
    expect(page.get_by_role("heading", level=1, name="traffic_monitor")).to_be_visible()
    expect(page.get_by_role("note", name="Demo")).to_be_visible()
    context.close()

    assert (light, dark, faults) == ([], [], [])
    assert width <= 390


def test_scenario_is_played_watched_and_one_of_my_own_is_refused_in_words(page: Page) -> None:
    page.goto("/simulation")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("37 of 37 checks hold")).to_be_visible()
    page.get_by_role("button", name="Restart").click()  # who wants still pictures is shown the end at first
    page.get_by_role("slider", name="Minute").press("End")
    expect(page.get_by_text("minute 40.0")).to_be_visible()
    expect(page.get_by_role("region", name="Decisions")).to_contain_text("pages take more than 2 s")
    light = serious(page)

    page.get_by_role("switch", name="Custom scenario").press("Space")
    page.get_by_label("Scenario in YAML").fill("name: Mine\nminutes: -1\nendpoints: {}\n")
    page.get_by_role("button", name="Run").click()

    expect(page.get_by_role("alert")).to_contain_text("minutes is -1")
    assert light == []


def test_page_of_the_demo_says_where_there_is_none_how_to_start_one(page: Page) -> None:
    page.goto("/demo")

    expect(page.get_by_text("mainspring demo")).to_be_visible()
