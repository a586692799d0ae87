"""What callers of kinds are made from."""

from msgspec import Struct

from mainspring.outbound.kinds.dial import Dialer
from mainspring.ports.outbound import Vault


class CallTools(Struct, frozen=True):
    """`dialer` opens connections past the address guard; `vault` opens sealed secrets."""

    dialer: Dialer
    vault: Vault
