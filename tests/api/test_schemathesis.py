"""Requests made up from the OpenAPI document, sent to a real server: no 5xx, and answers as the document says.

Short in `make test`; `pytest --long tests/api/test_schemathesis.py` asks a hundred times as often.
"""

import asyncio
import threading
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok

from mainspring.domain.endpoint import Tenant
from mainspring.wiring import SystemClock, open_stores
from tests.api.door import ALL, NobodyThere, open_app
from tests.harness.addresses import free_port
from tests.harness.waiting import until

EXAMPLES = 8
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


class Server:
    """The API in a thread with an event loop of its own, on SQLite and a free port."""

    def __init__(self, folder: str) -> None:
        self.url = ""
        self.is_up = threading.Event()
        self._folder = folder
        self._uvicorn: uvicorn.Server
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self) -> "Server":
        self._thread.start()
        assert self.is_up.wait(20), "the server did not start"
        return self

    def __exit__(self, *fault: object) -> None:
        self._uvicorn.should_exit = True
        self._thread.join(20)

    async def _serve(self) -> None:
        clock = SystemClock()
        async with open_stores(f"sqlite://{self._folder}/api.db") as stores:
            await stores.endpoints.put_tenant(Tenant("default", "default"))
            async with open_app(stores, clock, caller=NobodyThere()) as app:
                port = free_port()
                self.url = f"http://127.0.0.1:{port}"
                config = uvicorn.Config(app, port=port, log_config=None, access_log=False, lifespan="off")
                self._uvicorn = uvicorn.Server(config)
                serving = asyncio.create_task(self._uvicorn.serve())
                await until(lambda: self._uvicorn.started, "the server")
                self.is_up.set()
                await serving


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
