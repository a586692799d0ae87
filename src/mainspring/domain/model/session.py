"""A model session about one endpoint: its record, when the next one is due, and its budget. Pure."""

from datetime import datetime, timedelta

from msgspec import Struct

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import after_ms

TOOL_CALLS_MAX = 15
NEXT_MS_MIN, NEXT_MS_MAX = 300_000, 86_400_000
NEXT_DEFAULT = timedelta(minutes=5)
SKIPPED_FOR = timedelta(hours=1)  # retry a quota no more often than this

MISSING_FINAL_TOOL = "missing_final_tool"
MISSING_REASONING = "missing_reasoning"
OUTPUT_TRUNCATED = "output_truncated"
BUDGET_SPENT = "budget_spent"
MODEL_FAILED = "model_failed"
STOPPED = "stopped"


class ToolCall(Struct, frozen=True):
    tool: str
    arguments: dict[str, object]
    result: str


class SessionDetail(Struct, frozen=True):
    """What a session said and did, besides its figures."""

    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    actions_taken: str = ""
    confidence: str = ""
    warnings: tuple[str, ...] = ()
    note: str = ""  # why it was skipped or failed


class ModelSession(Struct, frozen=True):
    id: str
    tenant_id: str
    endpoint_id: str
    started_at: datetime
    status: str  # done | incomplete (no analysis submitted) | skipped (no call made) | stopped (switched off) | failed
    mode: str  # live | ask | shadow
    model: str
    tokens_in: int
    tokens_out: int
    cost_micros: int  # of a US dollar, by the prices in the settings
    duration_ms: int
    next_analysis_at: datetime
    failure_count: int
    detail: SessionDetail


class TokenUsage(Struct, frozen=True):
    month: str
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micros: int = 0
    sessions: int = 0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


def next_analysis_at(endpoint: Endpoint, now: datetime, asked_ms: object) -> datetime:
    """The time the model asked for, within bounds; otherwise after the baseline interval; otherwise in five minutes."""
    if isinstance(asked_ms, int) and not isinstance(asked_ms, bool):
        return after_ms(now, min(max(asked_ms, NEXT_MS_MIN), NEXT_MS_MAX))
    if endpoint.interval_ms is not None:
        return after_ms(now, min(max(endpoint.interval_ms, NEXT_MS_MIN), NEXT_MS_MAX))
    return now + NEXT_DEFAULT


def cost_micros(tokens_in: int, tokens_out: int, price_in: float, price_out: float) -> int:
    """Prices are dollars per million tokens, so a token costs `price` millionths of a dollar."""
    return round(tokens_in * price_in + tokens_out * price_out)


def estimated_tokens(chars: int) -> int:
    """Estimates four characters per token, which is close enough for every model."""
    return -(-chars // 4)


def fair_tokens(reported: int, estimated: int) -> int:
    """The number that a server reports, or the estimate if it reports nothing or an impossible number."""
    is_absurd = reported <= 0 or reported > 10_000 + 10 * estimated or reported * 20 < estimated
    return estimated if is_absurd else reported
