"""Judge the deadline of kind `heartbeat`. Nothing is called: a ping in time would have moved the deadline."""

from collections.abc import Callable
from datetime import datetime

from mainspring.domain.kinds.heartbeat import HeartbeatAction
from mainspring.domain.run import Outcome, Request
from mainspring.domain.schedule.ping import judge_silence


class HeartbeatCaller:
    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now

    async def call(self, request: Request) -> Outcome:
        assert isinstance(request.action, HeartbeatAction)
        return judge_silence(request.started_at, request.slot_at, request.action.grace_ms, self._now())

    async def aclose(self) -> None:
        """Nothing is kept between calls."""
