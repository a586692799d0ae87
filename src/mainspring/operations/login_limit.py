"""Slow down guessing: repeated failures must wait, across all processes and restarts."""

import math

from mainspring.domain.access.account import Bucket, invitation_buckets
from mainspring.domain.errors import TooManyRequests
from mainspring.ports.stores import Stores


async def refuse_invitations(stores: Stores, tenant_id: str, email: str) -> None:
    """Counts one invitation email. Raises TooManyRequests if an address or a tenant has reached its limit."""
    buckets = invitation_buckets(tenant_id, email)
    wait_s = await stores.credentials.take_turn(buckets)
    if wait_s > 0:
        seconds = math.ceil(wait_s)
        raise TooManyRequests(
            f"too many invitations were sent to this address or by this tenant; wait {seconds} s, then try again",
            retry_after_s=seconds,
        )


async def refuse_guesses(stores: Stores, *buckets: Bucket) -> None:
    """Counts one attempt. Raises TooManyRequests if the limit is reached."""
    wait_s = await stores.credentials.take_turn(buckets)
    if wait_s > 0:
        seconds = math.ceil(wait_s)
        raise TooManyRequests(
            f"too many wrong attempts; this one was not checked: wait {seconds} s, then try again",
            retry_after_s=seconds,
        )
