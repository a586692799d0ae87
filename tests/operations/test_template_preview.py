"""Templates as operations write and preview them: marked once, kept with an encrypted query string, never leaked."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.harness.config import a_config, edited
from tests.stores.world import START, FixedClock, run_slot

from mainspring.domain.endpoint import EndpointConfig, with_inputs
from mainspring.domain.errors import InvalidInput
from mainspring.domain.run import Header
from mainspring.operations.context import Desk
from mainspring.operations.dry_run import dry_run_desk
from mainspring.operations.endpoints import add_endpoint, edit_endpoint, find_endpoint
from mainspring.operations.template_preview import TemplatePreview, preview_templates

URL = "https://example.com/{{ date(slot.time) }}?token=planted4711&day={{ date(slot.time - duration('24h')) }}"
REPORT = a_config("report", URL, interval_ms=60_000, spread=False)
FIRST = START + timedelta(minutes=1)


async def test_preview_fills_in_the_texts_of_the_next_run(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, edited(REPORT, method="POST", body='{"id": "{{ slot.id }}"}'))
    assert await preview_templates(desk, endpoint) == TemplatePreview(
        START,
        (
            ("url", "https://example.com/2025-01-01?token=••••&day=2024-12-31"),
            ("body", f'{{"id": "{endpoint.id}_1735689600000000"}}'),
        ),
    )


async def test_endpoint_without_templates_has_no_preview(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, a_config("plain", "https://example.com/", interval_ms=60_000))
    assert await preview_templates(desk, endpoint) is None


async def test_dry_run_previews_before_anything_is_stored(desk: Desk) -> None:
    there = dry_run_desk(desk)
    endpoint = await add_endpoint(there, REPORT)
    previewed = await preview_templates(there, endpoint)
    assert previewed is not None
    assert previewed.texts[0][1].startswith("https://example.com/2025-01-01")
    assert await desk.stores.endpoints.endpoint("default", "report") is None


async def test_preview_reads_the_previous_response(desk: Desk, clock: FixedClock) -> None:
    endpoint = await add_endpoint(
        desk,
        edited(REPORT, url="https://example.com/", method="POST", body="{{ previous.exists && previous.body.ok }}"),
    )
    assert (await preview_templates(desk, endpoint)) == TemplatePreview(START, (("body", "false"),))
    await run_slot(desk.stores, clock)
    after = await find_endpoint(desk, "report")
    assert (await preview_templates(desk, after)) == TemplatePreview(FIRST, (("body", "true"),))


async def test_preview_says_why_there_is_no_text(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, edited(REPORT, url="https://example.com/{{ previous.body.id }}"))
    previewed = await preview_templates(desk, endpoint)
    assert previewed is not None
    assert previewed.fault.startswith("url: {{ previous.body.id }} ")


async def test_templates_of_a_hidden_query_string_stay_after_an_edit(desk: Desk) -> None:
    await add_endpoint(desk, edited(REPORT, url="https://example.com/?day={{ date(slot.time) }}"))

    async def is_templated(**inputs: object) -> bool:
        await edit_endpoint(desk, "report", lambda config: with_inputs(config, inputs))
        return (await find_endpoint(desk, "report")).action.templated

    assert await is_templated(description="x")
    assert not await is_templated(literal=True)
    assert not await is_templated(url="https://example.com/?day=1", literal=False)


async def test_templates_of_unchanged_headers_stay_after_an_edit(desk: Desk) -> None:
    config = edited(REPORT, url="https://example.com/", headers=(Header("X-Day", "{{ date(slot.time) }}"),))
    await add_endpoint(desk, config)
    await edit_endpoint(desk, "report", lambda config: with_inputs(config, {"every": 120_000}))
    assert (await find_endpoint(desk, "report")).action.templated


async def test_stored_text_of_an_older_version_stays_literal_until_it_is_edited(desk: Desk) -> None:
    await add_endpoint(
        desk, edited(REPORT, url="https://example.com/", method="POST", body="{{ .Names }}", literal=True)
    )
    found = await find_endpoint(desk, "report")
    older = replace(found, action=replace(http_of(found), literal=False))

    def as_older(config: EndpointConfig) -> EndpointConfig:
        return replace(config, action=replace(http_of(older), query=""), interval_ms=120_000)

    with pytest.raises(InvalidInput, match="set literal"):
        await edit_endpoint(desk, "report", as_older)
    assert not older.action.templated


async def test_query_string_with_templates_is_encrypted(desk: Desk) -> None:
    action = http_of(await add_endpoint(desk, REPORT))
    assert action.url == "https://example.com/{{ date(slot.time) }}?••••"
    assert "planted4711" not in action.query
