"""Answers as large as an endpoint keeps, judged and searched for secrets: the event loop has its turns in between.

Measured is the processor time of the loop's own thread between two of its turns.
"""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from msgspec.structs import replace

from mainspring.domain.access.sealing import header_place
from mainspring.domain.run import Header, RunStatus
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.vault import AesVault
from tests.harness.loop_watch import LoopWatch
from tests.harness.pace import SHARED
from tests.outbound.conftest import request_to

CAP = 10_000_000
LONGEST_S = 0.1 * SHARED
AT_ONCE = 6
SECRETS = 50
BODY = b"[" + b"1," * (CAP // 2 - 2) + b"1]"


@pytest.fixture
def url() -> Iterator[str]:
    """A server, in threads of its own, that answers with ten megabytes of JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(BODY)))
            self.end_headers()
            self.wfile.write(BODY)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name of the base class
            """Nothing is looked at here."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


async def test_large_answers_that_arrive_together_are_judged_one_in_a_turn(url: str, caller: HttpCaller) -> None:
    request = request_to(url, body_cap=CAP, condition="body == null")
    await caller.call(request)  # what is done once is done
    async with LoopWatch() as watch:
        outcomes = await asyncio.gather(*[caller.call(request) for _ in range(AT_ONCE)])

    assert {each.status for each in outcomes} == {RunStatus.SUCCESS}
    assert {each.body.bytes_seen for each in outcomes if each.body} == {len(BODY)}
    assert watch.longest_s <= LONGEST_S


async def test_large_answer_is_searched_for_many_secrets_beside_the_loop(
    url: str, caller: HttpCaller, vault: AesVault
) -> None:
    names = [f"X-Secret-{number}" for number in range(SECRETS)]
    sealed = [
        Header(name, vault.seal(f"secret value {name} {name}", header_place("tn_1", "ep_1", name)), secret=True)
        for name in names
    ]
    found = Header("X-Found", vault.seal("1,1,1,1,1", header_place("tn_1", "ep_1", "X-Found")), secret=True)
    request = request_to(url, body_cap=CAP, headers=(*sealed[1:], found))
    async with LoopWatch() as watch:
        outcome = await caller.call(request)

    assert outcome.status is RunStatus.SUCCESS
    assert outcome.body is not None
    assert b"1,1,1,1,1" not in outcome.body.data
    assert replace(outcome, body=None).error is None
    assert watch.longest_s <= LONGEST_S
