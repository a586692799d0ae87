"""Kind `heartbeat`: calls nothing and waits for pings. The effects of pings are in `domain/schedule/ping.py`."""

from typing import Annotated, ClassVar

from mainspring.domain.config_field import About
from mainspring.domain.kinds.kind import Fact, Kind
from mainspring.domain.run import BODY_CAP_DEFAULT, TIMEOUT_MS_DEFAULT, Action, BodyCap, Condition, Timeout

GRACE_MS_DEFAULT = 300_000
GRACE_MS_MIN = 1_000
GRACE_MS_MAX = 30 * 86_400_000


class HeartbeatAction(Action, frozen=True, omit_defaults=True, tag_field="kind", tag="heartbeat"):
    """What pings to expect. `timeout_ms` bounds how long a worker may take to judge a deadline."""

    is_expected: ClassVar[bool] = True

    grace_ms: Annotated[
        int,
        About(
            "How long after its expected time a ping is still in time.",
            least=GRACE_MS_MIN,
            most=GRACE_MS_MAX,
            examples=("10m",),
        ),
    ] = GRACE_MS_DEFAULT
    max_duration_ms: Annotated[
        int | None,
        About(
            "How long a run may take from its start ping to its end. 0: as long as grace.",
            least=GRACE_MS_MIN,
            most=GRACE_MS_MAX,
            zero_is_none=True,
            examples=("2h",),
        ),
    ] = None
    timeout_ms: Timeout = TIMEOUT_MS_DEFAULT
    body_cap: BodyCap = BODY_CAP_DEFAULT
    condition: Condition = None

    @property
    def judged_after_ms(self) -> int:
        return self.grace_ms


class HeartbeatKind(Kind[HeartbeatAction]):
    name = "heartbeat"
    about = "Calls nothing: expects a ping, and reports silence."
    action = HeartbeatAction
    has_status_code = True
    status_label = "exit code"
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact("status_code", "Exit code that the ping reported; 0 if it reported none."),
        Fact("body", "The body of the ping, if it is JSON."),
        Fact("duration_ms", "Time from the start ping to the end; 0 without a start ping."),
    )

    def summary(self, action: HeartbeatAction) -> str:
        return "waits for pings"
