"""The import for packages that add a kind of endpoint, and the test for them.

    [project.entry-points."mainspring.kinds"]
    smtp = "mainspring_smtp:SmtpPlugin"

The entry point names a class, or a function without arguments, whose result has `kind` and `open_caller(tools)`.
docs/examples/smtp_kind is a complete example. `check_kind` raises AssertionError if the kind breaks a promise.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.config_field import About
from mainspring.domain.errors import InvalidInput
from mainspring.domain.kinds.installed import KindPlugin, misfit
from mainspring.domain.kinds.kind import CallPolicy, Fact, Kind
from mainspring.domain.kinds.tcp import Host, Port, host_and_port
from mainspring.domain.run import (
    BODY_CAP_DEFAULT,
    TIMEOUT_MS_DEFAULT,
    Action,
    BodyCap,
    Condition,
    Literal,
    Outcome,
    Request,
    Timeout,
)
from mainspring.domain.target import check_host
from mainspring.outbound.kinds.call import CallFault, CallProgress, run_call
from mainspring.outbound.kinds.dial import Dialer, PeerStream, tls_context
from mainspring.outbound.kinds.tools import CallTools

__all__ = [
    "BODY_CAP_DEFAULT",
    "TIMEOUT_MS_DEFAULT",
    "About",
    "Action",
    "BodyCap",
    "CallFault",
    "CallPolicy",
    "CallProgress",
    "CallTools",
    "Condition",
    "Dialer",
    "Fact",
    "Host",
    "InvalidInput",
    "Kind",
    "KindCheck",
    "KindPlugin",
    "Literal",
    "Outcome",
    "PeerStream",
    "Port",
    "Request",
    "Timeout",
    "check_host",
    "check_kind",
    "facts_of",
    "host_and_port",
    "run_call",
    "tls_context",
]

SUMMARY_CHARS_MAX = 300
SLACK_S = 5.0  # beyond the deadline, for busy machines


class KindCheck(Struct, frozen=True):
    """What `check_kind` calls the kind with."""

    request: Request
    tools: CallTools


async def check_kind(plugin: KindPlugin, action: Action, check: KindCheck, policy: CallPolicy | None = None) -> Outcome:
    """The outcome of a call of `action`, if the kind keeps every promise of a kind.

    1. It fits beside the existing kinds, and all its fields and facts are described.
    2. Checking an action twice changes nothing, the action is stored and read unchanged, and has a summary in one line.
    3. A call ends within its deadline with an outcome, even if there is no time at all.
    """
    from mainspring.domain.kinds.registry import BUILT_IN  # this import loads the packages that import this module

    kind: Kind[Any] = plugin.kind
    assert misfit(kind, BUILT_IN) == "", misfit(kind, BUILT_IN)
    assert kind.about.endswith("."), "describe the kind in a sentence"
    for field in kind.fields:
        assert field.about.sentence.endswith("."), f"describe {field.key} in a sentence"
    undescribed = set(kind.action.__struct_fields__) - {field.name for field in kind.fields}
    assert not undescribed, f"describe {sorted(undescribed)} with About"
    for fact in kind.facts:
        assert fact.about.endswith("."), f"describe {fact.name} in a sentence"

    checked = kind.check(action, policy or CallPolicy())
    assert kind.check(checked, policy or CallPolicy()) == checked, "check must accept its own result unchanged"
    assert msgspec.json.decode(msgspec.json.encode(checked), type=kind.action) == checked, "it must survive JSON"
    summary = kind.summary(checked)
    assert summary, "summary must not be empty"
    assert "\n" not in summary, "summary must be one line"
    assert len(summary) <= SUMMARY_CHARS_MAX, "summary must be short"
    assert isinstance(kind.host_key(checked), str), "host_key is a text"

    caller = plugin.open_caller(check.tools)
    hurried = replace(check.request, action=replace(checked, timeout_ms=1))
    async with asyncio.timeout(SLACK_S):
        assert isinstance(await caller.call(hurried), Outcome), "a call without time must return an outcome"
    async with asyncio.timeout(checked.timeout_ms / 1_000 + SLACK_S):
        outcome = await caller.call(replace(check.request, action=checked))
    assert isinstance(outcome, Outcome), "a call must return an outcome"
    kept = outcome.body.data if outcome.body is not None else b""
    assert len(kept) <= checked.body_cap + 1_000, "a result must not be larger than body_cap"
    await caller.aclose()
    return outcome


def facts_of(outcome: Outcome) -> Mapping[str, Any]:
    """The facts of an outcome, for tests."""
    return {} if outcome.body is None else msgspec.json.decode(outcome.body.data, type=dict[str, Any])
