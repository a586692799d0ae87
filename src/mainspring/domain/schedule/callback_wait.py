"""The state of a run that waits for its callback. Pure. The effects of reports are in `domain/schedule/callback.py`."""

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.instant import after_ms

CALLBACK_TOTAL = timedelta(days=90)  # no report extends a run beyond this, so that a forgotten run ends


class CallbackWait(Struct, frozen=True, omit_defaults=True):
    """A run that the target accepted and that has not ended: its start, its deadline, and its last report."""

    since_at: datetime
    until_at: datetime
    percent: int | None = None
    text: str = ""
    reported_at: datetime | None = None
    requested_at: datetime | None = None  # a run that was requested meanwhile, and starts afterwards

    def reported(self, percent: int | None, text: str, timeout_ms: int, now: datetime) -> "CallbackWait":
        """With a progress report, which extends the deadline. Fields that the report leaves out stay unchanged."""
        until_at = min(after_ms(now, timeout_ms), self.since_at + CALLBACK_TOTAL)
        return replace(
            self,
            until_at=max(self.until_at, until_at),
            percent=self.percent if percent is None else percent,
            text=text or self.text,
            reported_at=now,
        )
