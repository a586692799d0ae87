"""A circuit breaker for the model's server: after a refusal no session starts until the server may accept again.

After 401 and 403 the key is wrong, and only an operator can change that; after 429 and 5xx the pause doubles with each
consecutive refusal. `Retry-After`, in seconds or as a date, is honoured if it asks for more. A server that cannot be
reached is retried at the next session.
"""

import structlog

from mainspring.ports.planner import Conversation

PAUSE_S = 30.0
PAUSE_S_MAX = 900.0
RETRY_AFTER_S_MAX = 86_400.0  # a longer pause is cut: the server is tried once a day
REFUSED = frozenset({401, 403})

log = structlog.get_logger()


class CircuitBreaker:
    def __init__(self) -> None:
        self._failures = 0  # consecutive
        self._until_s = 0.0

    def rests_for_s(self, now_s: float) -> float:
        """How long no session should start; 0: may start now."""
        return max(0.0, self._until_s - now_s)

    def heard(self, spoken: Conversation, now_s: float) -> None:
        """Records how a session went."""
        code = spoken.status_code
        is_refused = code is not None and (code in REFUSED or code == 429 or code >= 500)
        if not is_refused:
            if spoken.tokens_in:
                self._failures, self._until_s = 0, 0.0
            return
        self._failures += 1
        pause_s = PAUSE_S_MAX if code in REFUSED else min(PAUSE_S * 2.0 ** (self._failures - 1), PAUSE_S_MAX)
        pause_s = max(pause_s, min(spoken.retry_after_s or 0.0, RETRY_AFTER_S_MAX))
        self._until_s = now_s + pause_s
        log.warning("model paused", status_code=code, seconds=round(pause_s), failures=self._failures)
