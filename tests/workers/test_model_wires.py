"""A whole session over real HTTP with servers that speak like OpenAI, Anthropic and Google: well, badly, or not at all.

Whatever a server does, there is one session, soon, with a reason; and nothing of the key in it.
"""

import gzip
import json
from importlib.util import find_spec

import pytest

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.model.session import ModelSession
from mainspring.domain.run import Body
from mainspring.domain.schedule.cron import CRON
from mainspring.outbound.language_model import open_model
from mainspring.outbound.model_client import REPLY_BYTES_MAX
from mainspring.ports.stores import Stores
from mainspring.simulation.vault import NoVault
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.workers.analyst import Analyst, AnalystOptions
from tests.peers.model_server import ModelServer, Reply, says, serving_models
from tests.stores.databases import is_sqlite
from tests.stores.world import FixedClock, add, an_endpoint, an_outcome, get, run_slot

KEY = "sk-canary-key"
PROVIDERS = [
    "openai",
    "anthropic",
    pytest.param("google", marks=pytest.mark.skipif(not find_spec("google"), reason="its library is not installed")),
]
DONE = ("submit_analysis", {"reasoning": "the queue is deep", "confidence": "high", "next_analysis_in_ms": 600_000})
AGAIN = (("content-type", "application/json"), ("retry-after", "0"), ("retry-after-ms", "1"))


@pytest.fixture
async def deep(stores: Stores, clock: FixedClock, store_url: str) -> Endpoint:
    if not is_sqlite(store_url):
        pytest.skip("the database is not what is tested here")
    endpoint = an_endpoint("deep", description="run often while the queue is deep", min_interval_ms=5_000)
    await add(stores, endpoint)
    await run_slot(stores, clock, an_outcome(body=Body(b'{"depth": 7}', "", False, 12)), took_ms=0)
    return endpoint


async def look(
    stores: Stores, endpoint: Endpoint, server: ModelServer, provider: str, seconds: float = 30
) -> ModelSession:
    model = open_model(f"{provider}:small", server.model_url(provider), KEY)
    options = AnalystOptions("a", seconds=seconds, price_in=1.0, price_out=2.0)
    session = await Analyst(stores, model, NoVault(), TimeOrderedIds(), CRON, options).look(endpoint)
    assert session is not None
    (kept,) = await stores.sessions.sessions("default")
    assert kept == session
    assert KEY not in repr(kept)
    return session


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_session_is_held_in_each_wire_format(stores: Stores, deep: Endpoint, provider: str) -> None:
    propose = ("propose_interval", {"interval_ms": 30_000, "reason": "deep"})
    with serving_models(
        says(provider, ("get_latest_response", {})), says(provider, propose), says(provider, DONE)
    ) as server:
        session = await look(stores, deep, server, provider)

    hint = (await get(stores, deep)).interval_hint
    assert hint is not None
    assert hint.interval_ms == 30_000
    assert [call.tool for call in session.detail.tool_calls] == ["get_latest_response", "propose_interval"]
    assert (session.status, session.tokens_in, session.tokens_out) == ("done", 300, 60)
    assert (session.detail.reasoning, session.detail.warnings) == ("the queue is deep", ())
    asked = json.dumps(server.requests[-1][1])
    assert "submit_analysis" in asked
    assert "depth" in asked, "what the tool answered went back to the model"


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_rate_limit_is_waited_for(stores: Stores, deep: Endpoint, provider: str) -> None:
    limited = Reply(429, b'{"error": {"type": "rate_limit_error", "message": "slow down"}}', AGAIN)
    with serving_models(limited, says(provider, DONE)) as server:
        session = await look(stores, deep, server, provider)

    assert (session.status, session.detail.reasoning, len(server.requests)) == ("done", "the queue is deep", 2)


HUGE = b'{"choices": "' + b"x" * 10_000_000 + b'"}'
HTML = (("content-type", "text/html"),)
STREAM = (("content-type", "text/event-stream"),)
FAULTS: dict[str, tuple[Reply, str]] = {
    "429 without end": (Reply(429, b'{"error": {"message": "slow down"}}', AGAIN), "429"),
    "500": (Reply(500, b"oops", AGAIN), "500"),
    "a key that is echoed": (Reply(401, b'{"error": {"message": "bad key sk-canary-key"}}'), "401"),
    "not JSON": (Reply(200, b"<html>welcome</html>", HTML), ""),
    "an empty object": (Reply(200, b"{}"), ""),
    "a stream that nobody asked for": (Reply(200, b'data: {"id": "x"}\n\ndata: [DONE]\n\n', STREAM), ""),
    "half a reply": (Reply(200, b'{"id": "x", "choices": [', cut=True), ""),
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", FAULTS)
async def test_faulty_server_makes_one_failed_session_with_a_reason(
    stores: Stores, deep: Endpoint, provider: str, fault: str
) -> None:
    reply, words = FAULTS[fault]
    with serving_models(reply) as server:
        session = await look(stores, deep, server, provider)

    assert session.status == "failed"
    assert "model_failed" in session.detail.warnings
    assert words in session.detail.note
    assert session.detail.note
    assert len(session.detail.note) <= 500
    assert (await get(stores, deep)).interval_hint is None


async def test_reply_of_ten_megabytes_harms_nothing(stores: Stores, deep: Endpoint) -> None:
    with serving_models(Reply(200, HUGE)) as server:
        session = await look(stores, deep, server, "openai")

    assert (session.status, len(session.detail.note) <= 500) == ("failed", True)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_endless_reply_is_left_before_it_grows_the_memory(stores: Stores, deep: Endpoint, provider: str) -> None:
    piece = b'{"choices": "' + b"x" * 100_000
    with serving_models(Reply(200, piece, endless=True)) as server:
        session = await look(stores, deep, server, provider)
        sent = server.sent

    assert session.status == "failed"
    assert f"a reply of more than {REPLY_BYTES_MAX} bytes" in session.detail.note
    # A piece is counted once all of it is sent, and the caller may leave in the middle of it.
    assert REPLY_BYTES_MAX < sent + len(piece) < 10 * REPLY_BYTES_MAX, "what the sockets hold comes on top"
    assert len(server.requests) == 1, "it is not asked for again"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_compressed_reply_is_refused_before_it_unfolds(stores: Stores, deep: Endpoint, provider: str) -> None:
    headers = (("content-type", "application/json"), ("content-encoding", "gzip"))
    with serving_models(Reply(200, gzip.compress(b" " * 50_000_000, 1), headers)) as server:
        session = await look(stores, deep, server, provider)

    assert (session.status, "Content-Encoding 'gzip'" in session.detail.note) == ("failed", True)


@pytest.mark.parametrize("reply", [Reply(silent=True), Reply(200, b"{", drips=True)], ids=["silence", "drips"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_server_that_does_not_end_is_left_after_the_sessions_time(
    stores: Stores, deep: Endpoint, provider: str, reply: Reply
) -> None:
    with serving_models(reply) as server:
        session = await look(stores, deep, server, provider, seconds=0.5)

    assert session.detail.note
    assert {"budget_spent", "model_failed"} & set(session.detail.warnings)
    assert session.detail.tool_calls == ()


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_answer_that_is_cut_off_is_told(stores: Stores, deep: Endpoint, provider: str) -> None:
    with serving_models(says(provider, text="I would say that", cut_off=True)) as server:
        session = await look(stores, deep, server, provider)

    assert {"missing_final_tool", "output_truncated"} <= set(session.detail.warnings)
