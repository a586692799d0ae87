"""One installation from two sides: commands beside its database, and the same commands through its server."""

import asyncio
import json
import logging
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import structlog

from mainspring.api.access import recognise
from mainspring.domain.endpoint import Tenant
from mainspring.outbound.vault import KeyRing
from mainspring.ports.planner import Look
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import SystemClock
from mainspring.wiring.stores import open_stores
from tests.api.app import open_app
from tests.cli.shell import Shell
from tests.client.conftest import by_key, served
from tests.kind_samples import COMMANDS


class Pair:
    """The same installation from beside its database and from afar."""

    def __init__(self, near: Shell, server: str, stores: Stores, url: str) -> None:
        self.near = near
        self.far = Shell({"MAINSPRING_SERVER": server, "MAINSPRING_API_KEY": "all", "MAINSPRING_DATA_DIR": "/nowhere"})
        self.server = server
        self.stores = stores
        self.url = url

    async def both(self, *arguments: str) -> tuple[str, str]:
        """What each says, numbers aside: time goes on between the two."""
        near = await asyncio.to_thread(self.near, *arguments)
        far = await asyncio.to_thread(self.far, *arguments)
        assert near.exit_code == far.exit_code, far.output
        return timeless(near.output), timeless(far.output)

    async def json(self, *arguments: str) -> Any:
        return await asyncio.to_thread(self.far.json, *arguments)


async def same(pair: Pair, *command: str) -> None:
    """It says the same on both sides, as a table and as JSON, whatever the order of its keys."""
    near, far = await pair.both(*command)
    assert far == near, command
    sides = [await asyncio.to_thread(shell, *command, "-o", "json") for shell in (pair.near, pair.far)]
    near, far = (timeless(_sorted(side.stdout) + side.stderr) for side in sides)
    assert far == near, command


def _sorted(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True) if text else ""


def timeless(text: str) -> str:
    """Without what differs from one moment, or one caller, to the next."""
    text = text.replace("key:all", "cli").replace("API key all", "the command line")
    text = re.sub(r"\b[0-9a-f]{8,}\b|([0-9.]+(ms|s|m|h|d))+\b|[0-9]+[0-9a-f]*([.][0-9]+)?", "#", text)
    return re.sub(r" +|-{2,}|─+", " ", re.sub(r"in #+|#+ ago|#+|now", "#", text))


@asynccontextmanager
async def open_pair(folder: Path, postgres_url: str = "", look: Look | None = None) -> AsyncIterator[Pair]:
    # The server shares a process with the commands here, and its log must not stand among their output.
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    settings = {"MAINSPRING_DATA_DIR": str(folder), "MAINSPRING_SECRET_KEY": b64encode(bytes(32)).decode()}
    settings["MAINSPRING_COMMANDS"] = COMMANDS
    if postgres_url:
        settings["MAINSPRING_DATABASE_URL"] = postgres_url
    url = postgres_url or f"sqlite://{folder}/mainspring.db"
    async with open_stores(url, audit_keys=KeyRing(bytes(32)).audit_keys) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        async with open_app(stores, SystemClock(), look=look) as app:
            app.dependency_overrides[recognise] = by_key
            async with served(app) as server:
                yield Pair(Shell(settings), server, stores, url)
    structlog.configure(**before)
