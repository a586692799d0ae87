"""The web server as a worker: uvicorn under our supervisor, which owns the signals.

It listens on our own socket, bound before anything starts: a taken port gives a clear error, and port 0 is known by its
number before the first request.

The rule that must not break: no client can use up what the scheduler of the same process needs. A request has a minute
to arrive, and half of the files that the process may open are not for connections to it.

A stop answers requests that were sent before it:
1. Accept the connections that wait in the queue of the socket, and read their data. Closing first would reset
   them without a response.
2. Close the socket, and connections between two requests. A connection without a request has half a second to send one.
3. Wait for the responses in progress, up to GRACE_S. The other requests get 503.
"""

import asyncio
import resource
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import structlog
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from mainspring.domain.errors import Misconfigured

GRACE_S = 3  # an open stream must not delay the process; runs have a separate grace
CLOSING_S = 0.5
ASKING_S = 0.5  # at a stop, for the first request of a connection that was just made
PASSES = 20  # of the event loop: it accepts a waiting connection and reads its request within five
BACKLOG = 256  # accepted at once, before any is counted
ARRIVAL_S = 60.0  # for head and body together; responses may take any time
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
CONNECTIONS_MAX = FILES // 2 if FILES != resource.RLIM_INFINITY else 50_000

log = structlog.get_logger()


class WebServer:
    """`on_ready` is called once requests are answered, `on_stop` when a stop is requested: it ends streams."""

    def __init__(
        self,
        app: FastAPI,
        host: str,
        port: int,
        on_ready: Callable[[str], None],
        on_stop: Callable[[], None] = lambda: None,
        trusted_proxies: Sequence[str] = (),
    ) -> None:
        self._socket = _bind(host, port)
        shown_host = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown_host}:{self._socket.getsockname()[1]}"
        self._on_ready = on_ready
        self._on_stop = on_stop
        config = uvicorn.Config(
            app,
            http=_Connection,
            backlog=BACKLOG,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=GRACE_S,
            proxy_headers=bool(trusted_proxies),
            forwarded_allow_ips=list(trusted_proxies),
        )
        self._server = _Server(config, self._ready)

    async def run(self) -> None:
        await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        self._server.should_exit = True
        self._on_stop()

    def close(self) -> None:
        """Releases the port, even if the server never ran."""
        self._socket.close()

    def _ready(self) -> None:
        log.info("serving", url=self.url)
        self._on_ready(self.url)


class _Connection(H11Protocol):
    """Closes connections whose request does not arrive in time, or if there are too many; uvicorn would wait
    forever.
    """

    _deadline: asyncio.TimerHandle | None = None
    _is_last = False  # whether the next request is the last one

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS_MAX:
            transport.abort()
        else:
            self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle = self.cycle  # of the current or the last request
        if cycle is not None and self._is_last:
            cycle.keep_alive = False
        if cycle is None or cycle.more_body or cycle.response_complete:
            self._expect()
        else:
            self._expect_nothing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if self.transport.is_closing():
            return
        has_asked: bool = self.cycle is not None
        if not has_asked and not self._is_last:
            self._is_last = True
            self.loop.call_later(ASKING_S, self.shutdown)
        else:
            super().shutdown()

    def _expect(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(ARRIVAL_S, self.transport.abort)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for _ in range(PASSES):
            await asyncio.sleep(0)
        cutting = asyncio.create_task(self._cut_the_stuck())
        try:
            await super().shutdown(sockets)
            if self.server_state.tasks:  # they were cancelled, and return that to their clients
                await asyncio.wait(tuple(self.server_state.tasks), timeout=CLOSING_S)
        finally:
            cutting.cancel()

    async def _cut_the_stuck(self) -> None:
        """Does not wait for ended streams whose client does not read."""
        await asyncio.sleep(CLOSING_S)
        for connection in tuple(self.server_state.connections):
            transport = getattr(connection, "transport", None)
            if transport is not None and transport.is_closing():
                transport.abort()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the supervisor, which stops every worker including this one."""
        yield


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as fault:
        raise Misconfigured(
            f"cannot listen on {host} port {port}: {fault.strerror or fault}; "
            "choose another with MAINSPRING_PORT or MAINSPRING_HOST (port 0 picks a free one)",
            setting="MAINSPRING_PORT",
        ) from fault
