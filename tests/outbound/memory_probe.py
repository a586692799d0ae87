"""Call every hostile path many times at once and say how much memory that took: promise R14, in a process of its own.

    python -m tests.outbound.memory_probe <port of tests.peers.hostile> <rounds>

Prints JSON: the resident set before, its peak after the first round and after the last, and how the calls ended.
"""

import asyncio
import json
import resource
import sys
from collections import Counter
from datetime import UTC, datetime
from ipaddress import ip_network

from mainspring.domain.run import HttpAction, Request
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.vault import AesVault, KeyRing
from tests.peers.hostile import BEHAVIOURS, STATIC

BODY_CAP = 256 * 1_024
NOW = datetime(2030, 1, 1, tzinfo=UTC)
SKIPPED = ("/slow", "/redirect/to", "/redirect/chain/")
PATHS = tuple(path for path in (*STATIC, *BEHAVIOURS) if path not in SKIPPED)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024


async def main(port: int, rounds: int) -> None:
    caller = HttpCaller(AddressGuard((ip_network("127.0.0.0/8"),)), AesVault(KeyRing(b"k" * 32)), clock=lambda: NOW)

    async def call(path: str) -> str:
        action = HttpAction(url=f"http://127.0.0.1:{port}{path}", timeout_ms=1_500, body_cap=BODY_CAP, redirects_max=3)
        outcome = await caller.call(Request("tn_1", "ep_1", "ep_1_1", NOW, 1, action))
        return outcome.error_code or "success"

    await call("/ok")
    before = peak_mb()
    endings: Counter[str] = Counter()
    peaks = []
    for _ in range(rounds):
        endings.update(await asyncio.gather(*(call(path) for path in PATHS * 4)))
        peaks.append(peak_mb())
    await caller.aclose()
    print(json.dumps({"before_mb": before, "first_mb": peaks[0], "last_mb": peaks[-1], "endings": dict(endings)}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
