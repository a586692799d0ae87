"""The settings `retry` and `confirm`: which failed attempts are retried, and after which delay. Pure.

An attempt that is retried is not a result. Backoff, alerts, rules and health see the last attempt of a slot only.
Confirmations come first, retries follow. A call that was not sent and an internal error are never retried.
"""

import re
from functools import lru_cache
from typing import Annotated, Final

from msgspec import Struct

from mainspring.domain.config_field import About
from mainspring.domain.duration import format_duration, parse_duration_ms
from mainspring.domain.errors import InvalidInput
from mainspring.domain.name import shown
from mainspring.domain.run import Outcome, RunStatus

ATTEMPTS_MAX = 10  # each is a call to a target that is in trouble
RETRY_DELAY_MS_MIN = 100
RETRY_DELAY_MS_MAX = 86_400_000
RETRY_FACTOR_MAX = 10
CONFIRM_WITHIN_MS_MIN = 1_000
CONFIRM_WITHIN_MS_MAX = 3_600_000  # longer waits are retries
THROWN = frozenset({"internal", "unstorable"})  # Mainspring itself failed while calling or storing

RETRY_CAUSES = ("timeout", "connect", "5xx", "rate_limit", "4xx", "condition", "other")
_CAUSES: Final = {"deadline": "timeout", "dns": "connect", "connect": "connect", "tls": "connect"}
_CONFIRM: Final = re.compile(r" *([0-9]{1,3}) +within +(.+)", re.ASCII)


class RetryPolicy(Struct, frozen=True, omit_defaults=True):
    """How often and when a failed attempt is retried within its slot."""

    attempts: Annotated[
        int, About("How many attempts a slot has, including the first. 1: no retry.", least=1, most=ATTEMPTS_MAX)
    ] = 3
    delay_ms: Annotated[
        int,
        About("Delay before the second attempt.", least=RETRY_DELAY_MS_MIN, most=RETRY_DELAY_MS_MAX, examples=("5m",)),
    ] = 60_000
    factor: Annotated[
        int, About("Each further delay is this many times the one before.", least=1, most=RETRY_FACTOR_MAX)
    ] = 2
    max_delay_ms: Annotated[
        int, About("No delay is longer than this.", least=RETRY_DELAY_MS_MIN, most=RETRY_DELAY_MS_MAX)
    ] = 3_600_000
    on: Annotated[
        tuple[str, ...],
        About(
            "Failures that are retried. connect: no connection, also DNS and TLS; rate_limit: HTTP 429.",
            choices=RETRY_CAUSES,
        ),
    ] = ("timeout", "connect", "5xx", "rate_limit")

    def delay_after(self, retries: int) -> int:
        """The delay after this many retries of the slot, in milliseconds."""
        return min(self.delay_ms * int(self.factor**retries), self.max_delay_ms)


class Confirmation(Struct, frozen=True):
    """How often and for how long a failing check is repeated before it counts as failed."""

    times: int
    within_ms: int

    @property
    def gap_ms(self) -> int:
        """From the start of one attempt to the start of the next."""
        return self.within_ms // (self.times - 1)


@lru_cache(maxsize=256)
def read_confirm(text: str) -> Confirmation:
    """`3 within 20s`, or InvalidInput."""
    found = _CONFIRM.fullmatch(text)
    if found is None:
        raise InvalidInput(
            f"confirm '{shown(text)}' is not understood; it says how often a failing check is made, and within how "
            "long: write it as 3 within 20s",
            field="confirm",
            value=shown(text),
        )
    times = int(found[1])
    if not 2 <= times <= ATTEMPTS_MAX:
        raise InvalidInput(
            f"confirm {times} is out of bounds: a failing check is made 2 to {ATTEMPTS_MAX} times; write it as "
            "3 within 20s",
            field="confirm",
            value=shown(text),
        )
    within_ms = parse_duration_ms(found[2], field="confirm", min_ms=CONFIRM_WITHIN_MS_MIN, max_ms=CONFIRM_WITHIN_MS_MAX)
    return Confirmation(times, within_ms)


def confirm_text(text: str) -> str:
    """The setting in its normal form."""
    confirm = read_confirm(text)
    return f"{confirm.times} within {format_duration(confirm.within_ms)}"


def cause_of(outcome: Outcome) -> str | None:
    """Which of RETRY_CAUSES a failure is; None if a retry cannot help: nothing was sent, or Mainspring failed."""
    if outcome.status is RunStatus.BLOCKED or outcome.error_code in THROWN:
        return None
    if outcome.status is RunStatus.TIMEOUT:
        return "timeout"
    if outcome.error_code == "condition":
        return "condition"
    if outcome.error_code == "http_status" and outcome.status_code is not None:
        return _cause_of_code(outcome.status_code)
    return _CAUSES.get(outcome.error_code or "", "other")


def _cause_of_code(code: int) -> str:
    if code == 429:
        return "rate_limit"
    return {4: "4xx", 5: "5xx"}.get(code // 100, "other")
