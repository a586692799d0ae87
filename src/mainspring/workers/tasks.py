"""End the tasks of a worker soon, regardless of what they wait for."""

import asyncio
from typing import Any

END_S = 0.2


async def end_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancels and waits, but not for a database that never responds: such a task ends when its connection is closed."""
    for task in tasks:
        task.cancel()
        task.add_done_callback(
            lambda done: done.cancelled() or done.exception()
        )  # retrieved, so that asyncio does not complain
    if tasks:
        await asyncio.wait(tasks, timeout=END_S)
