"""What secrets are sealed to: each opens in its own place alone. Those of subscriptions are in `subscription`. Pure."""


def header_place(tenant_id: str, endpoint_id: str, name: str) -> str:
    return f"{tenant_id}|{endpoint_id}|header:{name.lower()}"


def signing_place(tenant_id: str) -> str:
    return f"{tenant_id}|signing"


def answer_place(tenant_id: str, actor: str, key: str) -> str:
    """Of an answer kept for an Idempotency-Key, and of the request it answers."""
    return f"{tenant_id}|answer|{actor}|{key}"
