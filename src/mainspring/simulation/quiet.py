"""Suppress the log of a simulation's workers: their time is simulated."""

from typing import Any

import structlog


class quiet:  # noqa: N801 - used like a function
    def __enter__(self) -> None:
        self._before = structlog.get_config()
        structlog.configure(processors=[_drop], cache_logger_on_first_use=False)

    def __exit__(self, *fault: object) -> None:
        structlog.configure(**self._before)


def _drop(logger: object, name: str, event: object) -> Any:  # structlog's own signature
    raise structlog.DropEvent
