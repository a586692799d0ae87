"""Executions and their logs as commands show them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainspring.operations.endpoints import Desk
    from mainspring.shapes import Shape
    from mainspring.workflow.model import Entry
    from mainspring.workflow_ports import Execution


async def tell_execution(desk: "Desk", execution: "Execution") -> "Shape":
    from mainspring.flow_shapes import execution_in_full
    from mainspring.operations.executions import clock_of

    return execution_in_full(execution, await clock_of(desk, execution))


def entry_lines(entries: Iterable["Entry"]) -> list[tuple[str, str, str, str]]:
    from mainspring.flow_shapes import sentence

    return [(str(entry.tick), entry.step, entry.action, sentence(entry)) for entry in entries]
