"""Requests made up from the OpenAPI document, sent to a real server: no 5xx, and answers as the document says.

Short in `make test`; `pytest --long tests/api/test_schemathesis.py` asks a hundred times as often.
"""

from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok

from tests.api.app import ALL
from tests.api.server import Server

EXAMPLES = 3
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with TemporaryDirectory() as folder, Server(folder) as started:
        yield started


def test_no_request_that_the_document_allows_or_forbids_breaks_the_server(server: Server, long_run: bool) -> None:
    schema = schemathesis.openapi.from_url(f"{server.url}/api/v1/openapi.json")
    found = [each.ok() for each in schema.get_all_operations() if isinstance(each, Ok)]
    operations = [operation for operation in found if "stream" not in operation.path]
    sent = 0
    for operation in operations:
        strategies = (
            operation.as_strategy(),
            operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE),
        )

        @settings(
            max_examples=EXAMPLES * (100 if long_run else 1), deadline=None, suppress_health_check=list(HealthCheck)
        )
        @given(case=st.one_of(*strategies))
        def ask(case: schemathesis.Case[Any]) -> None:
            nonlocal sent
            sent += 1
            (case.query or {}).pop("wait", None)  # nobody runs anything here, so waiting would only take its time
            case.call_and_validate(headers={"x-test": f"default {ALL}"}, checks=CHECKS)

        ask()

    assert sent >= len(operations) * 2
