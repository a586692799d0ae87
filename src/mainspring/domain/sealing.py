"""What secrets are sealed to: each opens in its own place alone. Those of subscriptions are in `subscription`. Pure."""

from collections.abc import Callable, Iterable

from mainspring.domain.endpoint import Endpoint


def header_place(tenant_id: str, endpoint_id: str, name: str) -> str:
    return f"{tenant_id}|{endpoint_id}|header:{name.lower()}"


def signing_place(tenant_id: str) -> str:
    return f"{tenant_id}|signing"


def answer_place(tenant_id: str, actor: str, key: str) -> str:
    """Of an answer kept for an Idempotency-Key, and of the request it answers."""
    return f"{tenant_id}|answer|{actor}|{key}"


def second_factor_place(user_id: str) -> str:
    return f"second factor|{user_id}"


def header_secrets(endpoints: Iterable[Endpoint], opened: Callable[[str, str], str]) -> list[str]:
    """What must not be told of what these endpoints answer: their secret headers, also without the scheme in front.

    One that does not open is not left out, but raises what `opened` does: whoever calls may be able to open it, and
    then its target can echo it.
    """
    found = []
    for endpoint in endpoints:
        for header in endpoint.action.headers:
            if header.secret:
                value = opened(header.value, header_place(endpoint.tenant_id, endpoint.id, header.name))
                found += [value, value.partition(" ")[2]]
    return found
