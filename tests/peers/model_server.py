"""A language model's server for tests: answers in the wire formats of OpenAI, Anthropic and Google, well or badly.

Each request gets the next of its replies, the last one again and again. It listens on a free port of the loopback, in
threads of its own, so that whoever asks may be a process, a thread or an event loop.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct

Json = dict[str, Any]


class Reply(Struct, frozen=True):
    """`drips` bytes are sent one by one, with a moment between, until the caller is gone; `silent`: nothing is."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    silent: bool = False
    drips: bool = False
    endless: bool = False  # the body again and again, as fast as it is read
    cut: bool = False  # the connection ends in the middle of the body


class ModelServer:
    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self._lock = threading.Lock()
        self.over = threading.Event()
        self.requests: list[tuple[str, Json]] = []
        self.url = ""
        self.sent = 0  # bytes of endless replies

    def next_reply(self, path: str, asked: Json) -> Reply:
        with self._lock:
            self.requests.append((path, asked))
            return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

    def model_url(self, provider: str) -> str:
        return f"{self.url}/v1" if provider == "openai" else self.url


@contextmanager
def serving_models(*replies: Reply) -> Iterator[ModelServer]:
    served = ModelServer(*replies)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            try:
                self._answer(served.next_reply(self.path, asked))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _answer(self, reply: Reply) -> None:
            if reply.silent:
                served.over.wait(60)
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            if reply.endless:
                self.send_header("connection", "close")
                self.end_headers()
                while not served.over.is_set():
                    self.wfile.write(reply.body)
                    served.sent += len(reply.body)
            length = 1_000_000 if reply.drips else len(reply.body) * (2 if reply.cut else 1)
            self.send_header("content-length", str(length))
            self.end_headers()
            self.wfile.write(reply.body)
            while reply.drips and not served.over.wait(0.05):
                self.wfile.write(b" ")
                self.wfile.flush()
            if reply.cut or reply.drips:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name of the base class
            """Tests look at `requests`."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def says(provider: str, *calls: tuple[str, Json], text: str = "", cut_off: bool = False) -> Reply:
    """One answer of the model: tool calls, or words."""
    made = {"openai": _openai, "anthropic": _anthropic, "google": _google}[provider](calls, text, cut_off)
    return Reply(body=json.dumps(made).encode())


def _openai(calls: tuple[tuple[str, Json], ...], text: str, cut_off: bool) -> Json:
    message: Json = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for place, (name, given) in enumerate(calls)
        ]
    finish = "length" if cut_off else "tool_calls" if calls else "stop"
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": "small",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }  # fmt: skip


def _anthropic(calls: tuple[tuple[str, Json], ...], text: str, cut_off: bool) -> Json:
    content: list[Json] = [{"type": "text", "text": text}] if text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{place}", "name": name, "input": given}
        for place, (name, given) in enumerate(calls)
    ]
    return {
        "id": "msg_x", "type": "message", "role": "assistant", "model": "small", "content": content,
        "stop_reason": "max_tokens" if cut_off else "tool_use" if calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }  # fmt: skip


def _google(calls: tuple[tuple[str, Json], ...], text: str, cut_off: bool) -> Json:
    parts: list[Json] = [{"text": text}] if text else []
    parts += [{"functionCall": {"name": name, "args": given}} for name, given in calls]
    return {
        "candidates": [
            {"content": {"role": "model", "parts": parts}, "finishReason": "MAX_TOKENS" if cut_off else "STOP"}
        ],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120},
        "modelVersion": "small",
    }  # fmt: skip
