"""The context that every operation gets: whose view of the stores, who acts, and what the operator allows."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from msgspec import Struct

from mainspring.domain.kinds.command_policy import NO_COMMANDS, CommandPolicy
from mainspring.domain.schedule.governor import CronReader
from mainspring.ports.outbound import Ids, Sandbox, Vault
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Signer

P = ParamSpec("P")
T = TypeVar("T")


class Inline:
    """A Sandbox for a process that serves no other requests: it calls the function itself."""

    async def call(self, tenant_id: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    async def call_within(
        self, seconds: float, tenant_id: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return function(*args, **kwargs)


class Desk(Struct, frozen=True):
    """The context of operations: one tenant's view of the stores, the actor, and the sources of ids and encryption."""

    stores: Stores
    tenant_id: str
    actor: str
    ids: Ids
    vault: Vault
    cron: CronReader
    allow_ports: frozenset[int] = frozenset()
    never_called: Callable[[str], str | None] = lambda host: None  # why no setting can allow this host
    signer: Signer | None = None  # for checkpoints
    partitions: int = 1  # number of partitions that new executions are spread over
    may_write: bool = True  # False: the actor does not have the scope `write`
    may_administer: bool = True  # False: the actor does not have the scope `admin`
    worker: str = ""  # the name of this process, under which it holds leases
    sandbox: Sandbox = Inline()
    site: str = ""  # where other programs reach this installation: https://mainspring.example.com
    callback_site: str = ""  # the same for callbacks, which arrive from elsewhere; "": unknown
    proxies: frozenset[str] = frozenset()  # names of the proxies that connections may use
    check_certificates: Callable[[str, str, str], None] = lambda ca, certificate, key: None  # raises InvalidInput
    commands: CommandPolicy = NO_COMMANDS  # programs that endpoints may run; none unless the operator lists some
