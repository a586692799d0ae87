"""Run one scenario for another process: the request is JSON on standard input, the report JSON on standard output.

A separate process, so that a scenario that takes too long or too much memory ends alone. It sets its own limits.
"""

import resource
import sys

import msgspec
from msgspec import Struct

from mainspring.domain.errors import InvalidInput, MainspringError
from mainspring.simulation.checks import check_trace
from mainspring.simulation.data import played_data
from mainspring.simulation.scenario import load_scenario, read_scenario
from mainspring.simulation.world import play

MEMORY_MAX = 1 << 30


class PlayRequest(Struct, frozen=True):
    scenario: str | None = None
    document: str | None = None
    seed: int = 1


def main() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))
    wanted = msgspec.json.decode(sys.stdin.buffer.read(), type=PlayRequest)
    sys.stdout.buffer.write(msgspec.json.encode(_answer(wanted)))


def _answer(wanted: PlayRequest) -> dict[str, object]:
    try:
        if wanted.document is not None:
            scenario = read_scenario(wanted.document, "the document")
        else:
            scenario = load_scenario(wanted.scenario or "")
        trace = play(scenario, wanted.seed)
        return {"played": played_data(trace, check_trace(trace))}
    except MemoryError:
        return {"fault": "the scenario needs more than 1 GB; make it shorter or smaller", "field": "scenario"}
    except MainspringError as fault:
        return {"fault": str(fault), "field": fault.field if isinstance(fault, InvalidInput) else "scenario"}


if __name__ == "__main__":
    main()
