"""A model's look at one endpoint: what is kept of it, when the next one is due, what it may spend. Pure."""

from datetime import datetime, timedelta

from msgspec import Struct

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import after_ms

TOOL_CALLS_MAX = 15
NEXT_MS_MIN, NEXT_MS_MAX = 300_000, 86_400_000
NEXT_DEFAULT = timedelta(minutes=5)
SKIPPED_FOR = timedelta(hours=1)  # a quota is not asked for again and again

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
    """What a session said and did, beside its figures."""

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
    status: str  # done | incomplete (no analysis came) | skipped (no call made) | stopped (switched off) | failed
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
    """What the model asked for, within bounds; else after the baseline interval; else in five minutes."""
    if isinstance(asked_ms, int) and not isinstance(asked_ms, bool):
        return after_ms(now, min(max(asked_ms, NEXT_MS_MIN), NEXT_MS_MAX))
    if endpoint.interval_ms is not None:
        return after_ms(now, min(max(endpoint.interval_ms, NEXT_MS_MIN), NEXT_MS_MAX))
    return now + NEXT_DEFAULT


def cost_micros(tokens_in: int, tokens_out: int, price_in: float, price_out: float) -> int:
    """Prices are dollars per million tokens, so a token costs `price` millionths of a dollar."""
    return round(tokens_in * price_in + tokens_out * price_out)


def estimated_tokens(chars: int) -> int:
    """About four characters are a token, in every model there is."""
    return -(-chars // 4)


def fair_tokens(reported: int, estimated: int) -> int:
    """What a server reports, unless it reports nothing or nonsense: then the estimate."""
    is_absurd = reported <= 0 or reported > 10_000 + 10 * estimated or reported * 20 < estimated
    return estimated if is_absurd else reported
