"""Which calls of a scheduler are slow: they may take only a part of its places; see `domain/fairness.py`.

A call counts as slow from its start if its endpoint is slow or new, or if its host hangs; any other call counts as
slow once it is in flight for SLOW_AFTER_MS. A host hangs while a call to it is in flight for that long. Each call is
looked at twice at most, so the count costs the same however many are in flight.
"""

from collections import Counter, deque

from mainspring.domain.claiming import Claim
from mainspring.domain.fairness import SLOW_AFTER_MS, SlowRoom, for_slow
from mainspring.failpoints import is_on

SLOW_AFTER_NS = SLOW_AFTER_MS * 1_000_000


class SlowCalls:
    def __init__(self, places: int) -> None:
        self._most = places if is_on("no_quick_share") else for_slow(places)
        self._started: deque[tuple[int, str, str]] = deque()  # (start, run, host) of calls that may still become slow
        self._calling: set[str] = set()
        self._slow: set[str] = set()  # runs; they stay until their place is free
        self._hung: dict[str, str] = {}  # run: host
        self._hanging: Counter[str] = Counter()  # host: calls

    def __len__(self) -> int:
        return len(self._slow)

    def room(self, now_ns: int) -> SlowRoom:
        """How many more slow runs may start now."""
        while self._started and self._started[0][0] <= now_ns - SLOW_AFTER_NS:
            _, run_id, host = self._started.popleft()
            if run_id in self._calling:
                self._slow.add(run_id)
                self._hung[run_id] = host
                self._hanging[host] += 1
        return SlowRoom(self._most - len(self._slow), frozenset(self._hanging))

    def start(self, claim: Claim, now_ns: int) -> None:
        endpoint = claim.endpoint
        took_ms = endpoint.last_duration_ms
        self._calling.add(claim.run_id)
        self._started.append((now_ns, claim.run_id, endpoint.host))
        if took_ms is None or took_ms >= SLOW_AFTER_MS or endpoint.host in self._hanging:
            self._slow.add(claim.run_id)

    def answered(self, run_id: str) -> None:
        """The call ended; its place is not free before its result is recorded."""
        self._calling.discard(run_id)
        if (host := self._hung.pop(run_id, None)) is not None:
            self._hanging[host] -= 1
            if not self._hanging[host]:
                del self._hanging[host]

    def end(self, run_id: str) -> None:
        """The place is free."""
        self.answered(run_id)
        self._slow.discard(run_id)
