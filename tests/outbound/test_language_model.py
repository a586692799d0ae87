"""The adapter against a real server that speaks the OpenAI wire format: well, badly, slowly, or not at all."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from mainspring.domain.errors import Misconfigured
from mainspring.domain.model.tools import FINAL, TOOLS
from mainspring.outbound.language_model import PROVIDERS, open_model
from mainspring.ports.planner import Budget, Conversation

FINAL_TOOL = next(spec for spec in TOOLS if spec.name == FINAL)
OTHERS = [spec for spec in TOOLS if spec.name != FINAL]
KEY = "sk-canary-key"


class Server:
    """Answers each request with the next of its replies: (status, body), or None for silence."""

    def __init__(self, *replies: tuple[int, bytes] | None, head: str = "retry-after: 0\r\n") -> None:
        self._replies = list(replies)
        self._head = head
        self.requests: list[dict[str, object]] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line.split(b":")[1]) for line in head.lower().splitlines() if line.startswith(b"content-length")
                )
                self.requests.append(json.loads(await reader.readexactly(length)))
                reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
                if reply is None:
                    await asyncio.sleep(60)
                    return
                status, body = reply
                top = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{self._head}"
                writer.write(f"{top}content-length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(*replies: tuple[int, bytes] | None, head: str = "retry-after: 0\r\n") -> AsyncIterator[Server]:
    server = Server(*replies, head=head)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listener.close()


def completion(*calls: tuple[str, object], text: str | None = None, finish: str = "tool_calls") -> tuple[int, bytes]:
    message: dict[str, object] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for place, (name, arguments) in enumerate(
                (name, given if isinstance(given, str) else json.dumps(given)) for name, given in calls
            )
        ]
    return 200, json.dumps(
        {
            "id": "x", "object": "chat.completion", "created": 1, "model": "small",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    ).encode()  # fmt: skip


async def converse(server: Server, seconds: float = 20, tokens: int = 10_000) -> tuple[Conversation, list[str]]:
    called: list[str] = []

    async def call(tool: str, arguments: dict[str, object]) -> str:
        called.append(tool)
        return "done"

    model = open_model("openai:small", server.url, KEY, lambda: NOON)
    budget = Budget(5, tokens, seconds)
    return await model.converse("be brief", "what now?", OTHERS, FINAL_TOOL, call, budget), called


DONE = completion((FINAL, {"reasoning": "fine", "next_analysis_in_ms": 600_000}))


async def test_tools_are_called_and_the_final_one_ends_the_session() -> None:
    async with serving(completion(("get_latest_response", {})), DONE) as server:
        spoken, called = await converse(server)

    assert called == ["get_latest_response"]
    assert spoken.final == {"reasoning": "fine", "next_analysis_in_ms": 600_000}
    assert (spoken.tokens_in, spoken.tokens_out, spoken.fault) == (200, 40, "")
    tools = server.requests[0]["tools"]
    assert isinstance(tools, list)
    assert {tool["function"]["name"] for tool in tools} == {spec.name for spec in TOOLS}


async def test_calls_of_one_answer_beyond_the_budget_are_not_executed() -> None:
    """A model may send any number of calls at once."""
    async with serving(completion(*[("get_latest_response", {})] * 40), DONE) as server:
        spoken, called = await converse(server)

    assert len(called) == 5
    assert (spoken.final, spoken.is_spent) == ({"reasoning": "fine", "next_analysis_in_ms": 600_000}, False)


async def test_rate_limit_is_waited_for_and_then_told() -> None:
    async with serving((429, b'{"error": {"message": "slow down"}}')) as server:
        spoken, _ = await converse(server)

    assert "429" in spoken.fault
    assert KEY not in spoken.fault


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ((("Retry-After", "120"),), 120.0),
        ((("Retry-After", "Sun, 01 Mar 2026 12:10:00 GMT"), ("Date", "Sun, 01 Mar 2026 12:00:30 GMT")), 570.0),
        ((("Retry-After", "Sun, 01 Mar 2026 12:10:00 GMT"),), 600.0),
        ((("Retry-After", "Sunday, 01-Mar-26 12:10:00 GMT"),), 600.0),
        ((("Retry-After", "Sun, 01 Mar 2026 11:00:00 GMT"),), 0.0),
        ((("Retry-After", "soon"),), None),
        ((), None),
    ],
    ids=["seconds", "a date by the server's clock", "a date by ours", "an old form", "a past date", "words", "nothing"],
)
async def test_retry_after_of_a_refusal_is_told_in_seconds(
    headers: tuple[tuple[str, str], ...], seconds: float | None
) -> None:
    """A key that is refused is not tried again by the library, so there is one request."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    async with serving((401, b'{"error": {"message": "no"}}'), head=head) as server:
        spoken, _ = await converse(server)

    assert (spoken.status_code, spoken.retry_after_s) == (401, seconds)


@pytest.mark.parametrize(
    "reply",
    [
        (500, b"oops"),
        (200, b"<html>not json</html>"),
        (200, b"{}"),
        (200, b'{"choices": []}'),
        (401, b'{"error": {"message": "bad key sk-canary-key"}}'),
        completion((FINAL, "{not json"), finish="length"),
        completion(("rm_rf", {})),
        completion(text=""),
        (200, b'{"choices": "' + b"x" * 10_000_000 + b'"}'),
    ],
    ids=["500", "html", "empty", "no choices", "bad key", "cut arguments", "unknown tool", "no words", "10 MB"],
)
async def test_whatever_a_server_says_is_a_value(reply: tuple[int, bytes]) -> None:
    async with serving(reply) as server:
        spoken, called = await converse(server)

    assert spoken.final is None
    assert spoken.fault or spoken.text == ""
    assert KEY not in spoken.fault
    assert called == []


async def test_silence_ends_with_the_time_budget() -> None:
    async with serving(None) as server:
        spoken, _ = await converse(server, seconds=0.5)

    assert spoken.is_spent or "imeout" in spoken.fault
    assert spoken.final is None


async def test_server_that_is_not_there_is_named_with_the_way_out() -> None:
    async with serving(None) as server:
        pass

    spoken, _ = await converse(server)

    assert spoken.fault.startswith("no connection to the model's server 127.0.0.1: ModelConnectionError")
    assert spoken.fault.endswith("check that it runs, and MAINSPRING_MODEL_URL")


async def test_token_and_call_budgets_end_a_session() -> None:
    async with serving(completion(("get_latest_response", {}))) as server:
        spoken, called = await converse(server)
        assert (spoken.is_spent, len(called)) == (True, 5)

        spoken, called = await converse(server, tokens=150)
        assert (spoken.is_spent, len(called)) == (True, 1)
        assert spoken.tokens_in == 200


@pytest.mark.parametrize(
    ("name", "url", "key", "words"),
    [
        ("small", "", "k", "is not a model"),
        ("mistral:x", "", "k", "is not a model"),
        ("openai:", "", "k", "is not a model"),
        ("openai:small", "", "", "needs a key"),
        ("openai:small", "localhost", "", "is not a server URL"),
        ("openai:small", "http://127.0.0.1:eighty/v1", "", "is not a server URL"),
    ],
)
def test_model_that_cannot_be_is_refused(name: str, url: str, key: str, words: str) -> None:
    with pytest.raises(Misconfigured, match=words):
        open_model(name, url, key)


def test_model_whose_library_is_missing_is_refused_with_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROVIDERS, "google", ("google.not_installed_here", "google"))

    with pytest.raises(
        Misconfigured, match=r"not installed \(google.not_installed_here\); install it with: pip install"
    ):
        open_model("google:small", "", "k")
