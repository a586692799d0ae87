"""Tenants with what they used this month and their sealed signing keys."""

from collections.abc import Sequence
from typing import Any

from mainspring.domain.endpoint import Tenant
from mainspring.stores.claim_batch import month_of
from mainspring.stores.session import Session

BETWEEN = "\n"  # no sealed text contains it


async def tenants(session: Session, ids: Sequence[str]) -> list[Tenant]:
    """Those of these tenants that exist, by id."""
    rows: Any = await session.rows("tenants_by_id", month_of(await session.now()), BETWEEN, list(ids))
    return [Tenant(*row[:7], tuple(row[7].splitlines())) for row in rows]  # type: ignore[call-arg]  # columns
