"""The examples of docs/configuration.md are documents, and the schema agrees with what is accepted."""

import re
from pathlib import Path

import pytest

from mainspring.configuration.document import json_schema
from mainspring.operations.endpoints import Desk
from tests.configuration.paper import apply

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
    assert set(schema["properties"]) == {"source", "jobs", "endpoints", "alerts", "webhooks", "workflows"}
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["EndpointEntry"]["required"] == ["url"]
    assert schema["$defs"]["EndpointEntry"]["properties"]["misfire"]["enum"] == ["run_once", "skip", "catch_up"]
