"""Hints: expiring advice that changes when an endpoint runs.

An endpoint has one interval hint and one one-shot hint at most, each with its own expiry, reason and author. Bounds are
enforced three times: here when a hint is created, by CHECK constraints, and by the governor.
"""

from datetime import datetime, timedelta

from msgspec import Struct

from mainspring.domain.errors import InvalidInput

HINT_INTERVAL_MS_MIN = 1_000
HINT_INTERVAL_MS_MAX = 366 * 86_400_000
HINT_TTL_MAX = timedelta(hours=24)
INTERVAL_TTL_DEFAULT = timedelta(minutes=60)
ONE_SHOT_TTL_DEFAULT = timedelta(minutes=30)

_KINDS = {"user": "", "key": "API key ", "rule": "rule ", "model": "model ", "execution": "workflow execution "}
_PLACES = {"cli": "the command line", "mcp": "an assistant", "config_dir": "the configuration directory"}


class IntervalHint(Struct, frozen=True):
    interval_ms: int
    expires_at: datetime
    reason: str = ""
    author: str = "user"

    def is_fresh(self, now: datetime) -> bool:
        return self.expires_at > now


class OneShotHint(Struct, frozen=True):
    next_run_at: datetime
    expires_at: datetime
    reason: str = ""
    author: str = "user"

    def is_fresh(self, now: datetime) -> bool:
        return self.expires_at > now


def make_interval_hint(
    now: datetime, interval_ms: int, ttl: timedelta = INTERVAL_TTL_DEFAULT, reason: str = "", author: str = "user"
) -> IntervalHint:
    if not HINT_INTERVAL_MS_MIN <= interval_ms <= HINT_INTERVAL_MS_MAX:
        raise InvalidInput(
            f"hint interval {interval_ms} ms is out of bounds; give at least 1s and at most 366d",
            field="every",
            value=interval_ms,
        )
    return IntervalHint(interval_ms, now + _checked_ttl(ttl), reason, author)


def make_one_shot_hint(
    now: datetime, next_run_at: datetime, ttl: timedelta = ONE_SHOT_TTL_DEFAULT, reason: str = "", author: str = "user"
) -> OneShotHint:
    expires_at = now + _checked_ttl(ttl)
    if next_run_at >= expires_at:
        raise InvalidInput(
            f"one-shot at {next_run_at.isoformat()} is later than its own expiry at "
            f"{expires_at.isoformat()}; a hint must take effect before it expires: give an earlier time or "
            "a longer ttl (at most 24h)",
            field="at",
            value=next_run_at.isoformat(),
        )
    return OneShotHint(max(next_run_at, now), expires_at, reason, author)


def _checked_ttl(ttl: timedelta) -> timedelta:
    if not timedelta(0) < ttl <= HINT_TTL_MAX:
        raise InvalidInput(
            f"ttl {ttl} is out of bounds; a hint is valid for more than 0s and at most 24h", field="ttl", value=str(ttl)
        )
    return ttl


def author_in_words(author: str) -> str:
    """The author for people: `rule:night` is rule night, `user:ann@example.com` is ann@example.com."""
    kind, _, name = author.partition(":")
    return f"{_KINDS[kind]}{name}" if name and kind in _KINDS else _PLACES.get(author, author)
