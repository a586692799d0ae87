"""Whether a scheduler is alive, so that a command can say that nothing will happen."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainspring.ports.stores import Stores
    from mainspring.ports.upkeep import WorkerRow

ALIVE_WITHIN_MS = 30_000  # three heartbeats of a scheduler


async def live_schedulers(stores: "Stores") -> list["WorkerRow"]:
    """Schedulers with a recent sign of life, without those of this machine whose process has ended since."""
    from mainspring.wiring.clock import is_gone

    rows = await stores.upkeep.workers(ALIVE_WITHIN_MS)
    return [row for row in rows if row.kind == "scheduler" and not is_gone(row.id)]


async def has_scheduler(stores: "Stores") -> bool:
    return bool(await live_schedulers(stores))
