"""Endpoints of every kind through both clients."""

from collections.abc import Callable
from typing import Any

import pytest

from mainspring.client import InvalidRequest
from tests.kind_samples import SAMPLES, TARGETS

Ask = Callable[..., Any]


@pytest.mark.parametrize("kind", SAMPLES)
async def test_endpoint_of_each_kind_is_made_changed_and_explained(ask: Ask, kind: str) -> None:
    made = await ask("endpoints.create", name="it", every="5m", **SAMPLES[kind])
    edited = await ask("endpoints.update", "it", timeout="3s")
    reasons = await ask("endpoints.explain_decision", "it")

    assert (made["kind"], made["target"], edited["timeout_ms"]) == (kind, TARGETS[kind], 3_000)
    assert reasons["sentences"]


async def test_program_that_is_not_listed_is_refused(ask: Ask) -> None:
    with pytest.raises(InvalidRequest, match="program '/bin/rm' is not allowed; the operator lists programs"):
        await ask("endpoints.create", name="it", every="5m", kind="command", command=["/bin/rm", "-rf", "/"])

    with pytest.raises(InvalidRequest, match="program '/bin/rm' is not allowed"):
        await ask("config.apply", document="endpoints: {it: {kind: command, command: [/bin/rm], every: 5m}}")
