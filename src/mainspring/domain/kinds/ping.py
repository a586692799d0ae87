"""Kind `ping`: ICMP echo requests to a host."""

from typing import Annotated, ClassVar

from msgspec.structs import replace

from mainspring.domain.config_field import About
from mainspring.domain.duration import format_duration
from mainspring.domain.errors import InvalidInput
from mainspring.domain.kinds.kind import CallPolicy, Fact, Kind
from mainspring.domain.kinds.tcp import Host
from mainspring.domain.run import BODY_CAP_DEFAULT, TIMEOUT_MS_DEFAULT, Action, BodyCap, Condition, Timeout
from mainspring.domain.target import check_host

COUNT_MAX = 20
SPACING_MS_MIN, SPACING_MS_MAX = 100, 10_000  # ten requests a second are a check; more would be a load test


class PingAction(Action, frozen=True, omit_defaults=True, tag_field="kind", tag="ping"):
    """How many echo requests to send, and how many may be lost."""

    host: Host
    count: Annotated[int, About("How many echo requests are sent.", least=1, most=COUNT_MAX)] = 3
    spacing_ms: Annotated[
        int, About("Time between two echo requests.", least=SPACING_MS_MIN, most=SPACING_MS_MAX, examples=("200ms",))
    ] = 200
    max_loss: Annotated[int, About("A higher share of lost requests is a failure.", most=100, unit="percent")] = 50
    timeout_ms: Timeout = TIMEOUT_MS_DEFAULT
    body_cap: BodyCap = BODY_CAP_DEFAULT
    condition: Condition = None


class PingKind(Kind[PingAction]):
    name = "ping"
    about = "Sends ICMP echo requests and measures loss and round-trip times."
    action = PingAction
    searched = ("host",)
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact("body.loss", "Lost requests, in percent."),
        Fact("body.sent", "How many requests were sent."),
        Fact("body.received", "How many were answered."),
        Fact("body.rtt_avg_ms", "Average round-trip time; null without an answer."),
        Fact("body.rtt_min_ms", "Shortest round-trip time."),
        Fact("body.rtt_max_ms", "Longest round-trip time."),
        Fact("body.rtts_ms", "Every round-trip time in order; null for a lost request."),
    )

    def check(self, action: PingAction, policy: CallPolicy) -> PingAction:
        sending_ms = (action.count - 1) * action.spacing_ms
        if sending_ms >= action.timeout_ms:
            raise InvalidInput(
                f"{action.count} requests {format_duration(action.spacing_ms)} apart take "
                f"{format_duration(sending_ms)}, and the timeout is {format_duration(action.timeout_ms)}; "
                "send fewer, or raise the timeout",
                field="count",
                value=action.count,
            )
        return replace(action, host=check_host(action.host))

    def host_key(self, action: PingAction) -> str:
        return f"{f'[{action.host}]' if ':' in action.host else action.host}:icmp"

    def summary(self, action: PingAction) -> str:
        return f"ping {action.host}"
