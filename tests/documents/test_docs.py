"""The examples of docs/configuration.md are documents, and the schema agrees with what is accepted."""

import json
import re
from pathlib import Path

import pytest
from jsonschema_rs import is_valid

from mainspring.documents.document import json_schema
from mainspring.operations.context import Desk
from mainspring.workflow.document import InvalidWorkflow, parse_text
from tests.documents.texts import apply

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", (DOCS / "configuration.md").read_text(encoding="utf-8"), re.M | re.S)
SHOP = (DOCS / "examples" / "shop.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", [*BLOCKS, SHOP])
async def test_example_applies(desk: Desk, text: str) -> None:
    report = await apply(desk, text, environment={"HOME": "/root", "HOOK_SECRET": "whsec_" + "QUJD" * 8})

    assert report.counts["created"] > 0


def test_schema_is_of_the_draft_that_editors_read_and_knows_every_key() -> None:
    schema = json_schema()

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(schema["properties"]) == {
        "source",
        "connections",
        "calendars",
        "jobs",
        "endpoints",
        "maintenance",
        "alerts",
        "webhooks",
        "workflows",
    }
    assert schema["additionalProperties"] is False
    needs = {
        each["if"]["properties"]["kind"]["const"]: each["then"]["required"]
        for each in schema["$defs"]["EndpointEntry"]["allOf"]
    }
    assert (needs["http"], needs["tcp"]) == (["url"], ["host", "port"])
    assert schema["$defs"]["EndpointEntry"]["properties"]["misfire"]["enum"] == ["run_once", "skip", "catch_up"]


@pytest.mark.parametrize(
    ("trigger", "is_good"),
    [
        ({"run": "billing"}, True),
        ({"run": None, "where": "event.ok"}, True),
        ({"run": {"endpoint": "billing", "status": ["failure", "timeout"]}, "input": {"depth": 1}}, True),
        ({"rule": {"name": "busy"}, "correlation": "{{ event.endpoint }}"}, True),
        ({"alert": {"kind": "recovered"}, "send": {"event": "recovered", "to": "x"}}, True),
        ({"run": {"status": "lost"}}, False),
        ({"run": {"name": "billing"}}, False),
        ({"run": "billing", "rule": "busy"}, False),
        ({"where": "true"}, False),
        ({"run": "billing", "send": {"event": "go", "to": "x"}, "input": {}}, False),
        ({"run": "billing", "send": {"event": "go"}}, False),
    ],
)
def test_schema_knows_triggers_as_the_reader_does(trigger: dict[str, object], is_good: bool) -> None:
    steps = [{"id": "rest", "wait": "1d"}]
    known = is_valid(json_schema(), {"workflows": {"surge": {"on": [trigger], "steps": steps}}})
    try:
        parse_text(json.dumps({"name": "surge", "on": [trigger], "steps": steps}), frozenset())
        is_read = True
    except InvalidWorkflow:
        is_read = False

    assert (known, is_read) == (is_good, is_good)
