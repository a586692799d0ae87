"""The API behind a real socket, for clients that are programs of their own."""

import asyncio
import threading

import uvicorn

from mainspring.domain.endpoint import Tenant
from mainspring.wiring.clock import SystemClock
from mainspring.wiring.stores import open_stores
from tests.api.app import NobodyThere, open_app
from tests.harness.addresses import free_port
from tests.harness.waiting import until


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
        assert self.is_up.wait(60), "the server did not start"
        return self

    def __exit__(self, *fault: object) -> None:
        self._uvicorn.should_exit = True
        self._thread.join(60)

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
