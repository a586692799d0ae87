"""Port of maintenance windows."""

from typing import Protocol

from mainspring.domain.event import Event
from mainspring.domain.schedule.maintenance import MaintenanceWindow


class MaintenanceStore(Protocol):
    """Maintenance windows. Schedulers of every process follow a change within a second, those of this one at once."""

    async def windows(self, tenant_id: str | None) -> list[MaintenanceWindow]:
        """Ordered by name; of all tenants if `tenant_id` is None."""

    async def add_window(self, window: MaintenanceWindow, event: Event) -> None:
        """Raises Conflict if the tenant has one of this name."""

    async def put_window(self, window: MaintenanceWindow, event: Event) -> bool:
        """Writes it if the stored version is one less than this one's; False if it was changed or deleted meanwhile.

        Raises Conflict if the tenant has another one of this name.
        """

    async def delete_window(self, tenant_id: str, window_id: str, event: Event) -> bool:
        """False if it did not exist."""
