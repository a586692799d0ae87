"""Forms that lose and drop nothing: copies, errors in closed sections, expired sessions, leaving by accident."""

import re

import httpx2
import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from mainspring.domain.endpoint import FIELD_BY_KEY
from tests.browser.accounts import PASSWORD, signed_in
from tests.browser.site import PATIENCE_S, RARELY, Json, Site

# A value of each setting that differs from its default. A setting that the API learns has to be added here, or fails.
SETTINGS: dict[str, Json] = {
    "kind": "http",
    "name": "original",
    "url": "{shop}/ok?page=2",
    "job": "copied",
    "description": "Everything is set.",
    "runbook": "Call the shop.",
    "method": "OPTIONS",
    "connection": "copied door",
    "headers": [
        {"name": "Accept", "value": "text/plain", "secret": False},
        {"name": "Authorization", "value": "Bearer original", "secret": True},
    ],
    "body": '{"all": true}',
    "cron": "7 3 * * 1-5",
    "timezone": "Europe/Berlin",
    "timeout": 17_250,
    "min_interval": 61_500,
    "max_interval": 604_800_000,
    "backoff": "monitor",
    "jitter": 4_500,
    "spread": False,
    "misfire": "catch_up",
    "catch_up_max": 7,
    "max_lateness": 90_001,
    "on_lost_worker": "skip",
    "body_cap": 4_321,
    "redirects_max": 3,
    "accept_codes": [200, 207],
    "contains": "All good",
    "matches": "[Gg]ood",
    "warn_days": 0,  # a certificate needs an https:// URL, which the shop does not have
    "fail_days": 0,
    "condition": "status_code < 300",
    "advice": ["interval", "wake"],
    "retry": {"attempts": 4, "delay": 2_500, "factor": 3, "max_delay": 70_000, "on": ["timeout", "4xx"]},
    "confirm": "2 within 15s",
    "literal": True,
    "completes": "response",  # a callback cannot be confirmed; test_callbacks.py has one
    "callback_timeout": 7_200_500,
    "except": "copied days off",
    "only": "copied working days",
    "shift": "next_business_day",
}
EITHER = {"every", "at"}  # an endpoint has a cron expression, an interval or a single time


@pytest.fixture(scope="module")
def door(site_and_cookies: tuple[Site, list[Json]]) -> None:
    """The connection and the calendars that the settings name."""
    site = site_and_cookies[0]
    site.call("POST", "/connections", {"name": SETTINGS["connection"], "base_url": site.shop})
    site.call("POST", "/calendars", {"name": SETTINGS["except"], "dates": ["2040-12-25"]})
    site.call("POST", "/calendars", {"name": SETTINGS["only"], "weekdays": ["mon", "tue", "wed", "thu", "fri"]})


def settings_of_the_api(site: Site) -> set[str]:
    document = httpx2.get(f"{site.url}/api/v1/openapi.json", timeout=PATIENCE_S).json()
    return set(document["components"]["schemas"]["EndpointNew"]["properties"])


def fields_of_other_kinds(site: Site) -> set[str]:
    """Fields that the form draws from their description."""
    kinds = {each["name"]: {field["key"] for field in each["fields"]} for each in site.call("GET", "/kinds")["items"]}
    http = kinds.pop("http")
    return set().union(*kinds.values()) - http


def test_endpoint_of_another_kind_is_made_tried_and_changed_in_the_form(page: Page, site: Site) -> None:
    port = site.shop.rpartition(":")[2]
    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("shop port")
    page.get_by_role("combobox", name="Kind").click()
    page.get_by_role("option", name="tcp", exact=True).click()
    expect(page.get_by_label("URL")).to_be_hidden()
    expect(page.get_by_role("button", name="Create endpoint")).to_be_disabled()
    page.get_by_role("textbox", name="Host").fill("127.0.0.1")
    page.get_by_role("textbox", name="Port").fill(port)
    page.get_by_role("button", name="Send test call").click()
    expect(page.get_by_text("at 127.0.0.1, allowed")).to_be_visible()
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_role("heading", level=1, name="shop port")).to_be_visible()
    expect(page.get_by_text(f"tcp 127.0.0.1:{port}").first).to_be_visible()
    made = site.call("GET", "/endpoints/shop port")
    page.goto(f"/endpoints/{made['id']}/edit")
    expect(page.get_by_role("textbox", name="Port")).to_have_value(port)
    page.get_by_role("textbox", name="Host").fill("http://x")
    expect(page.get_by_text("is not a host alone").first).to_be_visible()
    page.get_by_role("textbox", name="Host").fill("localhost")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"tcp localhost:{port}").first).to_be_visible()

    assert (made["kind"], made["host"], made["port"], made["tls"]) == ("tcp", "127.0.0.1", int(port), False)


def test_heartbeat_is_made_in_the_form_and_its_page_has_the_ping_url(page: Page, site: Site) -> None:
    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("nightly backup")
    page.get_by_role("combobox", name="Kind").click()
    page.get_by_role("option", name="heartbeat", exact=True).click()
    page.get_by_role("textbox", name="Grace").fill("20m")
    expect(page.get_by_role("button", name="Send test call")).to_have_count(0)
    expect(page.get_by_role("button", name="Retries")).to_have_count(0)
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_role("heading", level=1, name="nightly backup")).to_be_visible()
    expect(page.get_by_role("button", name="Run now")).to_have_count(0)
    page.get_by_role("button", name="Create ping URL").click()
    url = page.get_by_label("Command").first
    expect(url).to_contain_text(f"{site.url}/ping/")

    assert httpx2.get(url.inner_text(), timeout=PATIENCE_S).text == "OK\n"
    expect(page.get_by_role("row").filter(has_text="success").first).to_be_visible()
    page.get_by_role("button", name="Revoke URL").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke URL").click()
    expect(page.get_by_text("The endpoint has no ping URL yet.")).to_be_visible()
    assert site.call("GET", "/endpoints/nightly backup")["grace_ms"] == 1_200_000


REQUIRED = {
    "tls": {"Host": "example.com"},
    "dns": {"Host": "example.com"},
    "ping": {"Host": "example.com"},
    "queue": {"Broker": "redis://mq.example.com", "Destination": "orders"},
    "command": {"Command": "/bin/printf\n%s\nhello"},
}


def test_endpoints_of_the_other_kinds_are_made_in_the_form(page: Page, site: Site) -> None:
    for kind, fields in REQUIRED.items():
        page.goto("/endpoints/new")
        page.get_by_label("Name").fill(f"one {kind}")
        page.get_by_role("combobox", name="Kind").click()
        page.get_by_role("option", name=kind, exact=True).click()
        for label, value in fields.items():
            page.get_by_role("textbox", name=label).fill(value)
        page.get_by_role("button", name="Create endpoint").click()
        expect(page.get_by_role("heading", level=1, name=f"one {kind}")).to_be_visible()
        assert site.call("GET", f"/endpoints/one {kind}")["kind"] == kind
    page.goto("/jobs")  # which reads none of them again when it is deleted
    for kind in REQUIRED:
        site.call("DELETE", f"/endpoints/one {kind}")


def test_program_that_is_not_listed_is_refused_in_the_form(page: Page) -> None:
    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("forbidden")
    page.get_by_role("combobox", name="Kind").click()
    page.get_by_role("option", name="command", exact=True).click()
    page.get_by_role("textbox", name="Command").fill("/bin/rm\n-rf")
    expect(page.get_by_text("program '/bin/rm' is not allowed").first).to_be_visible()
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_text("program '/bin/rm' is not allowed").first).to_be_visible()


def test_edit_leaves_arguments_that_are_not_one_line(page: Page, site: Site) -> None:
    command = ["/bin/printf", "%s", "two\nlines", ""]
    wish = {"name": "many lines", "kind": "command", "command": command, "every": RARELY}
    made = site.call("POST", "/endpoints", wish)
    page.goto(f"/endpoints/{made['id']}/edit")
    page.get_by_label("Description").fill("Edited.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Edited.")).to_be_visible()

    assert site.call("GET", "/endpoints/many lines")["command"] == command


def shown(endpoint: Json, settings: set[str]) -> dict[str, Json]:
    """The settings, under the names that they are shown by."""
    return {FIELD_BY_KEY[key].name: endpoint[FIELD_BY_KEY[key].name] for key in settings}


def methods_of_the_api(site: Site) -> list[str]:
    document = httpx2.get(f"{site.url}/api/v1/openapi.json", timeout=PATIENCE_S).json()
    return list(document["components"]["schemas"]["EndpointNew"]["properties"]["method"]["enum"])


@pytest.mark.usefixtures("door")
def test_copy_has_every_setting_of_the_original_and_asks_for_its_secrets(page: Page, site: Site) -> None:
    settings = settings_of_the_api(site)
    described = fields_of_other_kinds(site)
    assert set(SETTINGS) | EITHER | described == settings, "give the new setting a value above, and a place in the form"
    wish = {**SETTINGS, "url": SETTINGS["url"].format(shop=site.shop)}
    original = site.call("POST", "/endpoints", wish)
    page.goto(f"/endpoints/{original['id']}")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Duplicate").click()
    note = page.get_by_role("note").filter(has_text="Enter secrets again")
    expect(note).to_contain_text("Enter: the URL's query string, Authorization.")
    page.get_by_role("button", name="Create endpoint").click()
    url = page.get_by_label("URL")
    expect(url).to_be_focused()
    expect(page.get_by_text("Enter again: the URL's query string, Authorization.").first).to_be_visible()
    url.fill(wish["url"])
    page.get_by_role("button", name="Create endpoint").click()
    secret = page.get_by_placeholder("Secret value")
    expect(secret).to_be_focused()
    expect(page.get_by_role("alert")).to_contain_text("Enter again: Authorization.")
    secret.fill("Bearer copy")
    expect(page.get_by_role("note").filter(has_text="All secrets entered")).to_be_visible()
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_role("heading", level=1, name="original copy")).to_be_visible()
    copy = site.call("GET", "/endpoints/original copy")

    assert shown(copy, settings) == shown(original, settings) | {"name": "original copy"}


def test_copy_names_a_hidden_query_string_among_the_secrets_to_enter(page: Page, site: Site) -> None:
    url = f"{site.shop}/ok?token=original"
    original = site.call("POST", "/endpoints", {"name": "with a query", "url": url, "every": "1h"})
    page.goto(f"/endpoints/new?copy={original['id']}")
    expect(page.get_by_role("note")).to_contain_text("Enter: the URL's query string.")
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_label("URL")).to_be_focused()
    page.get_by_label("URL").fill(f"{site.shop}/ok?token=copy")
    expect(page.get_by_role("note")).to_contain_text("All secrets entered")
    page.get_by_role("button", name="Create endpoint").click()

    expect(page.get_by_role("heading", level=1, name="with a query copy")).to_be_visible()


@pytest.mark.usefixtures("door")
def test_edit_that_changes_one_thing_leaves_every_other_setting(page: Page, site: Site) -> None:
    wish = {**SETTINGS, "name": "edited once", "url": SETTINGS["url"].format(shop=site.shop)}
    before = site.call("POST", "/endpoints", wish)
    page.goto(f"/endpoints/{before['id']}/edit")
    page.get_by_label("Description").fill("Another text.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Another text.")).to_be_visible()
    after = site.call("GET", "/endpoints/edited once")
    settings = settings_of_the_api(site)

    assert shown(after, settings) == shown(before, settings) | {"description": "Another text."}


def test_form_offers_every_method_of_the_api(page: Page, site: Site) -> None:
    page.goto("/endpoints/new")
    page.get_by_role("combobox", name="Method").click()

    expect(page.get_by_role("option")).to_have_text(methods_of_the_api(site))
    page.keyboard.press("Escape")


def test_error_of_the_server_in_a_closed_section_opens_it_and_is_focused(page: Page, site: Site) -> None:
    page.goto("/endpoints/new")
    page.set_viewport_size({"width": 1024, "height": 500})
    page.get_by_label("Name").fill("faulty")
    page.get_by_label("URL").fill(f"{site.shop}/ok")
    section = page.get_by_role("button", name="Limits, failures and missed runs")
    section.click()
    page.get_by_label("Runs to catch up").fill("many")
    section.click()
    expect(page.get_by_label("Runs to catch up")).to_be_hidden()
    page.get_by_role("button", name="Create endpoint").click()
    field = page.get_by_label("Runs to catch up")
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport()
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("3")
    page.get_by_role("button", name="Create endpoint").click()

    expect(page.get_by_role("heading", level=1, name="faulty")).to_be_visible()


def test_session_that_ends_keeps_what_was_typed_and_saves_after_signing_in_again(browser: Browser, site: Site) -> None:
    with signed_in(browser, site, "tired@example.com", "operator") as page:
        page.goto("/endpoints/new")
        page.get_by_label("Name").fill("typed before the end")
        page.get_by_label("URL").fill(f"{site.shop}/ok")
        page.get_by_label("Description").fill("A long text.")
        page.context.clear_cookies()  # as if the session had ended
        page.get_by_role("button", name="Create endpoint").click()
        dialog = page.get_by_role("dialog", name="Your session has ended")
        expect(dialog.get_by_label("Email")).to_have_value("tired@example.com")
        dialog.get_by_role("textbox", name="Password").fill("not the password")
        dialog.get_by_role("button", name="Sign in", exact=True).click()
        expect(dialog.get_by_role("alert")).to_be_visible()
        dialog.get_by_role("textbox", name="Password").fill(PASSWORD)
        dialog.get_by_role("button", name="Sign in", exact=True).click()
        expect(page.get_by_role("heading", level=1, name="typed before the end")).to_be_visible()

    assert site.call("GET", "/endpoints/typed before the end")["description"] == "A long text."


def test_session_that_is_begun_again_in_another_tab_is_enough(browser: Browser, site: Site) -> None:
    with signed_in(browser, site, "elsewhere@example.com", "operator") as page:
        page.goto("/endpoints/new")
        page.get_by_label("Name").fill("waits for the other tab")
        cookies = page.context.cookies()
        page.context.clear_cookies()
        page.get_by_label("URL").fill(f"{site.shop}/ok")
        expect(page.get_by_role("dialog", name="Your session has ended")).to_be_visible()
        page.context.add_cookies([{"name": each["name"], "value": each["value"], "url": site.url} for each in cookies])
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Create endpoint").click()

        expect(page.get_by_role("heading", level=1, name="waits for the other tab")).to_be_visible()


def test_leaving_an_edited_form_asks_first_and_an_untouched_one_does_not(page: Page) -> None:
    page.goto("/jobs")
    page.get_by_role("link", name="New endpoint").click()
    expect(page.get_by_label("Name")).to_be_visible()
    page.get_by_role("link", name="Jobs").click()
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    page.get_by_role("link", name="New endpoint").click()
    page.get_by_label("Name").fill("half done")
    page.get_by_role("link", name="Jobs").click()
    question = page.get_by_role("dialog", name="Leave without saving?")
    question.get_by_role("button", name="Keep editing").click()
    expect(page.get_by_label("Name")).to_have_value("half done")
    page.evaluate("history.back()")
    question.get_by_role("button", name="Keep editing").click()
    expect(page.get_by_label("Name")).to_have_value("half done")
    page.get_by_role("link", name="Cancel").click()
    question.get_by_role("button", name="Discard changes").click()

    expect(page.get_by_role("heading", level=1, name="Endpoints")).to_be_visible()


@pytest.mark.parametrize("typed", ["half done", ""])
def test_closing_the_tab_asks_only_where_something_was_typed(two_tabs: tuple[Page, Page], typed: str) -> None:
    page, _ = two_tabs
    asked: list[str] = []

    def hear(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", hear)
    page.goto("/endpoints/new")
    page.get_by_label("Name").click()
    page.get_by_label("Name").fill(typed)
    with page.expect_event("close"):
        page.close(run_before_unload=True)

    assert asked == (["beforeunload"] if typed else [])


def test_dialog_with_something_typed_asks_before_escape_closes_it(page: Page) -> None:
    page.goto("/jobs")
    page.get_by_role("button", name="New job").click()
    form = page.get_by_role("dialog", name="New job")
    form.get_by_label("Name").press("Escape")
    expect(form).to_have_count(0)
    page.get_by_role("button", name="New job").click()
    form.get_by_label("Name").fill("half done")
    page.keyboard.press("Escape")
    question = page.get_by_role("dialog", name="Leave without saving?")
    question.get_by_role("button", name="Keep editing").click()
    expect(form.get_by_label("Name")).to_have_value("half done")
    page.keyboard.press("Escape")
    question.get_by_role("button", name="Discard changes").click()

    expect(page.get_by_role("dialog")).to_have_count(0)


def test_new_workflow_never_begins_as_one_that_exists(page: Page, site: Site) -> None:
    page.goto("/workflows")
    form = page.get_by_role("dialog", name="Publish workflow")
    names = []
    for _ in range(2):
        page.get_by_role("button", name="Publish workflow").first.click()
        document = form.get_by_label("Document").input_value()
        names.append(re.findall(r"name: (.+)", document)[0])
        expect(form.get_by_text(f"{names[-1]} is new")).to_be_visible()
        form.get_by_role("button", name="Publish").click()
        expect(page.get_by_role("heading", level=1, name=names[-1])).to_be_visible()
        page.get_by_role("link", name="Workflows").click()
    site.call("POST", f"/workflows/{names[1]}/archive")
    page.reload()
    page.get_by_role("button", name="Publish workflow").first.click()
    expect(form.get_by_label("Document")).to_have_value(re.compile("^name: order-follow-up-3\n"))
    page.keyboard.press("Escape")
    site.call("POST", f"/workflows/{names[0]}/archive")

    assert names == ["order-follow-up", "order-follow-up-2"]
