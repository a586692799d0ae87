"""Count the slow calls of a scheduler, which may take only a part of its places; see `domain/schedule/fairness.py`.

A call counts from its start if its endpoint is slow or new, or if its host hangs; any other call counts once it is in
flight for SLOW_AFTER_MS. A host hangs while a call that should have been quick is in flight for that long; a call known
to be slow says nothing about its host. Each call is checked twice at most, so the cost does not depend on the number in
flight.
"""

from collections import Counter, deque

from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import SLOW_AFTER_MS, EndpointPace, SlowRoom, for_new, for_slow, pace_of
from mainspring.failpoints import is_on

SLOW_AFTER_NS = SLOW_AFTER_MS * 1_000_000


class SlowCalls:
    def __init__(self, places: int) -> None:
        self._most = (places, places) if is_on("no_quick_share") else (for_slow(places), for_new(places))
        self._started: deque[tuple[int, str, str]] = deque()  # (start, run, host) of calls that should be quick
        self._calling: set[str] = set()
        self._slow: set[str] = set()  # runs; they stay until their place is free
        self._hung: dict[str, str] = {}  # run: host
        self._hanging: Counter[str] = Counter()  # host: calls

    def __len__(self) -> int:
        return len(self._slow)

    def room(self, now_ns: int) -> SlowRoom:
        """How many more slow and new runs may start now."""
        while self._started and self._started[0][0] <= now_ns - SLOW_AFTER_NS:
            _, run_id, host = self._started.popleft()
            if run_id in self._calling:
                self._slow.add(run_id)
                self._hung[run_id] = host
                self._hanging[host] += 1
        slow, new = self._most
        return SlowRoom(slow - len(self._slow), new - len(self._slow), frozenset(self._hanging))

    def start(self, claim: Claim, now_ns: int) -> None:
        endpoint = claim.endpoint
        is_quick = pace_of(endpoint.last_duration_ms) is EndpointPace.QUICK
        if is_quick:
            self._calling.add(claim.run_id)
            self._started.append((now_ns, claim.run_id, endpoint.host))
        if not is_quick or endpoint.host in self._hanging:
            self._slow.add(claim.run_id)

    def answered(self, run_id: str) -> None:
        """The call ended; its place is free once its result is recorded."""
        self._calling.discard(run_id)
        if (host := self._hung.pop(run_id, None)) is not None:
            self._hanging[host] -= 1
            if not self._hanging[host]:
                del self._hanging[host]

    def end(self, run_id: str) -> None:
        """The place is free."""
        self.answered(run_id)
        self._slow.discard(run_id)
