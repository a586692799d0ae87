"""The tools from which callers of kinds are made."""

from msgspec import Struct

from mainspring.outbound.kinds.dial import Dialer
from mainspring.ports.outbound import Vault


class CallTools(Struct, frozen=True):
    """`dialer` opens connections past the address guard; `vault` decrypts secrets."""

    dialer: Dialer
    vault: Vault
