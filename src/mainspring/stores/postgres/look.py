"""The rows of `due_and_read_clock`, grouped by their kind."""

from collections.abc import Iterable, Sequence
from typing import Any

from mainspring.domain.endpoint import Tenant
from mainspring.stores.due_windows import Place


class Look:
    """The rows of a look after the first two, grouped by their kind."""

    def __init__(self, rows: Iterable[Sequence[Any]]) -> None:
        self.due: dict[str, Sequence[Any]] = {}
        self.tenants: dict[str, Tenant] = {}
        self.busy: dict[tuple[str, str], int] = {}
        self.slow_busy: dict[str, int] = {}
        self.ends: dict[int, Place] = {}
        for row in rows:
            endpoint_id, tenant_id, host, at, count, other, keys, _ = row
            if endpoint_id is not None:
                self.due[endpoint_id] = row
            elif keys is not None:  # with the fields that a claim needs
                self.tenants[tenant_id] = Tenant(
                    tenant_id, "", runs_per_month=other, runs_this_month=count, signing_keys=tuple(keys)
                )
            elif tenant_id is not None:
                self.busy[tenant_id, ""] = count
                self.slow_busy[tenant_id] = other
            elif host is not None:
                self.busy["", host] = count
            else:
                self.ends[other - 1] = Place(at, count)
