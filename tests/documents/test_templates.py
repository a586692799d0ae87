"""Templates in documents: marked in every text, exported as they were written, refused where they are wrong."""

import pytest

from mainspring.documents.export import export_documents
from mainspring.documents.yaml_writer import as_yaml
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint
from tests.documents.texts import apply, faults

PATH = 'url: \'https://example.com/{{ previous.exists ? "a" : "b" }}?day={{ date(slot.time) }}\''
TEXTS = {
    "path and query": PATH,
    "query": "url: 'https://example.com/?day={{ date(slot.time) }}'",
    "header": "{url: 'https://example.com/', headers: {X-Day: '{{ date(slot.time) }}'}",
}


@pytest.mark.parametrize("text", [f"{{{PATH}", f"{{{TEXTS['query']}", TEXTS["header"]])
async def test_template_in_a_document_is_marked_and_stays_so(desk: Desk, text: str) -> None:
    await apply(desk, f"endpoints: {{it: {text}, every: 5m}}}}")
    assert (await find_endpoint(desk, "it")).action.templated
    exported = as_yaml(await export_documents(desk))
    report = await apply(desk, exported)
    assert (report.steps, report.unchanged) == ((), 1)
    await apply(desk, exported.replace("every: 5m", "every: 6m"))
    assert (await find_endpoint(desk, "it")).action.templated


async def test_new_template_of_an_edited_document_is_marked(desk: Desk) -> None:
    await apply(desk, "endpoints: {it: {url: 'https://example.com/?day=1', every: 5m}}")
    await apply(desk, f"endpoints: {{it: {{{TEXTS['query']}, every: 5m}}}}")
    assert (await find_endpoint(desk, "it")).action.templated


async def test_foreign_braces_are_refused_with_the_switch(desk: Desk) -> None:
    text = "endpoints: {it: {url: 'https://example.com/', method: POST, body: '{{ .Names }}', every: 5m%s}}"
    (fault,) = await faults(desk, text % "")
    assert "set literal" in fault
    await apply(desk, text % ", literal: true")
    assert not (await find_endpoint(desk, "it")).action.templated
