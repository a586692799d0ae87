"""Which of the due endpoints get the free places. Pure.

Tenants take turns: the first place goes to the tenant with the fewest runs in flight, then by age. Nobody gets more
than its caps allow, so a hanging target takes only its own places and one tenant's backlog delays no other tenant.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

# Defaults of the caps; `Settings` and `SchedulerOptions` take them from here. A call in flight costs 13 kB over
# HTTP and one open file, measured with 4,000 of them.
PLACES = 1_000
PER_TENANT = 1_000
PER_HOST = 50  # one host that hangs takes a twentieth of the places of one scheduler

class Candidate(NamedTuple):
    id: str
    tenant_id: str
    host: str
    claimable_at: datetime


Busy = Mapping[tuple[str, str], int]  # runs in flight for each (tenant, host)


def full_hosts(busy: Busy, per_host: int) -> list[str]:
    """Hosts that have no place left: their endpoints need not even be looked at."""
    hosts: Counter[str] = Counter()
    for (_, host), count in busy.items():
        hosts[host] += count
    return [host for host, count in hosts.items() if count >= per_host]


def pick(candidates: Iterable[Candidate], busy: Busy, per_tenant: int, per_host: int, limit: int) -> list[str]:
    """Ids to claim, at most `limit`."""
    tenants: Counter[str] = Counter()
    hosts: Counter[str] = Counter()
    for (tenant_id, host), count in busy.items():
        tenants[tenant_id] += count
        hosts[host] += count
    turns: list[tuple[int, datetime, Candidate]] = []
    waiting = Counter(tenants)
    for candidate in sorted(candidates, key=lambda each: each.claimable_at):
        waiting[candidate.tenant_id] += 1
        turns.append((waiting[candidate.tenant_id], candidate.claimable_at, candidate))
    turns.sort()
    picked: list[str] = []
    for _, _, candidate in turns:
        if len(picked) == limit:
            break
        if hosts[candidate.host] < per_host and tenants[candidate.tenant_id] < per_tenant:
            hosts[candidate.host] += 1
            tenants[candidate.tenant_id] += 1
            picked.append(candidate.id)
    return picked
