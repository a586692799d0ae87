"""Whether a scheduler is running, so that a command can warn that nothing will happen."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainspring.ports.presence import WorkerRow
    from mainspring.ports.stores import Stores


async def live_schedulers(stores: "Stores") -> list["WorkerRow"]:
    return [row for row in await stores.presence.alive() if row.kind == "scheduler"]


async def has_scheduler(stores: "Stores") -> bool:
    return bool(await live_schedulers(stores))
