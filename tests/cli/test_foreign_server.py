"""A server that is not Mainspring: every command ends with an error that says so, and never with a traceback."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from tests.cli.shell import Shell

COMMANDS = [
    ("endpoint", "list"),
    ("endpoint", "show", "health"),
    ("endpoint", "add", "health", "--url", "https://example.com/", "--every", "1m"),
    ("endpoint", "edit", "health", "--every", "2m"),
    ("endpoint", "run", "health", "--wait"),
    ("endpoint", "test", "health"),
    ("endpoint", "delete", "health", "--yes"),
    ("job", "list"),
    ("runs",),
    ("run", "show", "run_1"),
    ("why", "health"),
    ("next", "health"),
    ("events",),
    ("hint", "interval", "health", "30s"),
    ("rules", "list"),
    ("sessions", "list"),
    ("workflow", "list"),
    ("execution", "list"),
    ("webhook", "list"),
    ("alert", "list"),
    ("maintenance", "list"),
    ("calendar", "list"),
    ("member", "list"),
    ("apikey", "list"),
    ("audit", "list"),
    ("tenant", "list"),
    ("user", "list"),
    ("export",),
    ("endpoint", "pause", "health"),
    ("job", "show", "shop"),
    ("job", "pause", "shop"),
    ("workflow", "show", "order"),
    ("workflow", "start", "order"),
    ("execution", "show", "exe_1"),
    ("execution", "pause", "exe_1"),
    ("execution", "verify", "exe_1"),
    ("webhook", "show", "shop"),
    ("webhook", "deliveries", "shop"),
    ("alert", "show", "ops"),
    ("maintenance", "show", "night"),
    ("calendar", "show", "holidays"),
    ("calendar", "preview", "holidays"),
    ("alert", "test", "ops"),
    ("signing-key", "list"),
    ("audit", "verify"),
    ("backtest", "health"),
    ("planner", "mode"),
]
HTML = b"<!doctype html><title>Welcome</title><h1>It works!</h1>"
OTHER_JSON = b'{"hello": "world"}'


def answer(status: str, body: bytes, kind: str = "text/html", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


ANSWERS = {
    "a page": answer("200 OK", HTML),
    "a page that is missing": answer("404 Not Found", HTML),
    "an empty answer": answer("200 OK", b""),
    "other JSON": answer("200 OK", OTHER_JSON, "application/json"),
    "a list": answer("200 OK", b"[1, 2]", "application/json"),
    "a number": answer("200 OK", b"7", "application/json"),
    "a problem of another kind": answer("404 Not Found", b'{"detail": "Not Found"}', "application/json"),
    "a redirect": answer("302 Found", b"", "text/html", "Location: https://login.example.com/"),
}


@contextmanager
def serving(reply: bytes) -> Iterator[str]:
    """A server that gives this reply to everything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                with peer:
                    _read_request(peer)
                    peer.sendall(reply)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def _read_request(peer: socket.socket) -> None:
    seen = b""
    while b"\r\n\r\n" not in seen:
        if not (part := peer.recv(65_536)):
            return
        seen += part
    head, _, body = seen.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.lower().splitlines() if line.startswith(b"content-length:")]
    while lengths and len(body) < lengths[0]:
        body += peer.recv(65_536)


def through(server: str) -> Shell:
    return Shell({"MAINSPRING_SERVER": server, "MAINSPRING_API_KEY": "k", "MAINSPRING_DATA_DIR": "/nowhere"})


@pytest.mark.parametrize("reply", ANSWERS.values(), ids=list(ANSWERS))
def test_every_command_reports_an_answer_that_is_not_of_mainspring(reply: bytes) -> None:
    with serving(reply) as server:
        shell = through(server)
        for command in COMMANDS:
            if command == ("export",) and b"200 OK" in reply:
                continue  # YAML is what it asks for: any text may be some
            result = shell(*command)
            message = result.stderr

            assert (result.exit_code, result.stdout) == (1, ""), command
            assert "Mainspring" in message, command
            assert "correct the URL" in message, command


def test_connection_that_closes_is_reported_with_the_address() -> None:
    with serving(b"") as server:
        message = through(server).refused("endpoint", "list", code=5)

    assert message.startswith("no response from the server: ")
    assert message.endswith(
        f"({server}); a Mainspring server must be running at this URL; start it, or correct the URL"
    )


def test_server_that_speaks_another_protocol_is_reported() -> None:
    with serving(b"SSH-2.0-OpenSSH_9.2p1\r\n") as server:
        message = through(server).refused("endpoint", "list", code=5)

    assert "a Mainspring server must be running at this URL" in message


@pytest.mark.parametrize("server", ["http://127.0.0.1:99999", "http://[::1", "http://"])
def test_address_that_cannot_be_one_is_refused(server: str) -> None:
    message = through(server).refused("endpoint", "list", code=1)

    assert "--server http://127.0.0.1:8080" in message
