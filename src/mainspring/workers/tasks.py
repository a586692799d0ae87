"""How the tasks of a worker end: soon, whatever they wait for."""

import asyncio
from typing import Any

END_S = 0.2


async def end_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancel and wait, but not for a database that never answers: what hangs there ends when its connection is cut."""
    for task in tasks:
        task.cancel()
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, so that nobody complains
    if tasks:
        await asyncio.wait(tasks, timeout=END_S)
