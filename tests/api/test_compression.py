"""Long lists are compressed; what holds a secret, a stranger's text or a stream is not, and the loop never waits."""

import gzip
import json
import os
import time

import pytest
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient
from starlette.responses import Response

from mainspring.api.compression import LISTS, SIZE_MIN, Compression, takes_gzip
from tests.harness.loop_watch import LoopWatch

LARGE = json.dumps({"items": [os.urandom(400).hex() for _ in range(10_000)]})  # 8 MB, and hard to compress
GZIP = {"Accept-Encoding": "gzip"}


async def test_list_is_compressed_for_who_takes_it_and_says_that_it_varies(api: AsyncClient) -> None:
    for n in range(20):
        await api.post("/api/v1/endpoints", json={"name": f"e{n}", "url": "http://10.0.0.1/", "every": "1h"})

    packed = await api.get("/api/v1/endpoints", headers=GZIP)
    plain = await api.get("/api/v1/endpoints", headers={"Accept-Encoding": "identity"})

    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 4
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    assert "Accept-Encoding" in packed.headers["vary"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/auth/session",
        "/api/v1/auth/second-factor",
        "/api/v1/keys",
        "/api/v1/signing-keys",
        "/api/v1/runs/run_1",
        "/api/v1/runs/run_1/body",
        "/api/v1/runs/run_1/body/raw",
        "/api/v1/deliveries/dlv_1",
        "/api/v1/webhooks/whk_1/deliveries",
        "/api/v1/executions/exe_1",
        "/api/v1/config/export",
        "/api/v1/events/stream",
        "/mcp",
    ],
)
def test_what_holds_secrets_or_strangers_text_is_never_compressed(path: str) -> None:
    assert LISTS.fullmatch(path) is None


async def test_answer_to_a_write_and_a_short_one_go_out_as_they_are(api: AsyncClient) -> None:
    wish = {"name": "long", "url": "http://10.0.0.1/", "every": "1h", "description": "x" * SIZE_MIN}
    written = await api.post("/api/v1/endpoints", json=wish, headers=GZIP)
    short = await api.get("/api/v1/workflows", headers=GZIP)

    assert written.status_code == 201
    assert "content-encoding" not in written.headers
    assert "content-encoding" not in short.headers


async def test_compressing_a_large_list_does_not_stop_the_loop() -> None:
    app = FastAPI()

    @app.get("/api/v1/runs")
    async def large() -> Response:
        return Response(LARGE, media_type="application/json")

    app.add_middleware(Compression)
    began_s = time.process_time()
    async with (
        AsyncClient(transport=ASGITransport(app=app), base_url="http://site") as client,
        LoopWatch() as watch,
        client.stream("GET", "/api/v1/runs", headers=GZIP) as answer,
    ):
        raw = b"".join([part async for part in answer.aiter_raw()])

    assert time.process_time() - began_s > 0.1, "too little was compressed to be a test"
    assert watch.longest_s < 0.1
    assert gzip.decompress(raw).decode() == LARGE


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [("gzip", True), ("br, GZIP;q=0.5", True), ("*", True), ("gzip;q=0", False), ("identity", False), ("", False)],
)
def test_gzip_is_used_where_it_is_accepted(accepted: str, takes: bool) -> None:
    assert takes_gzip(accepted) is takes
