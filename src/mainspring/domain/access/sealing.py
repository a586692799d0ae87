"""Contexts that secrets are encrypted for: a secret can only be decrypted in its own place. Pure.

The contexts of webhooks and alerts are in `subscription`.
"""

from collections.abc import Callable, Iterable
from urllib.parse import unquote, unquote_plus

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.kinds.http import query_of, speaks_of_a_secret
from mainspring.domain.kinds.registry import kind_of
from mainspring.domain.run import Action

TOKEN_CHARS_MIN = 20  # a shorter value with a harmless name is a word, a number or a date, which bodies are full of
PARAMETER_WORDS = ("key", "sig", "auth", "pass", "pwd", "code", "credential", "jwt", "session")


def header_place(tenant_id: str, endpoint_id: str, name: str) -> str:
    return f"{tenant_id}|{endpoint_id}|header:{name.lower()}"


def pair_place(tenant_id: str, endpoint_id: str, action: Action, name: str) -> str:
    """Context of a secret among the named values of an action: a header, or what other kinds have."""
    return f"{tenant_id}|{endpoint_id}|{kind_of(action).pair}:{name.lower()}"


def query_place(tenant_id: str, endpoint_id: str) -> str:
    return f"{tenant_id}|{endpoint_id}|query"


def ping_place(tenant_id: str, endpoint_id: str) -> str:
    return f"{tenant_id}|{endpoint_id}|ping"


def signing_place(tenant_id: str) -> str:
    return f"{tenant_id}|signing"


def answer_place(tenant_id: str, actor: str, key: str) -> str:
    """Context of a response stored for an Idempotency-Key, and of its request."""
    return f"{tenant_id}|answer|{actor}|{key}"


def second_factor_place(user_id: str) -> str:
    return f"second factor|{user_id}"


def query_secrets(query: str) -> list[str]:
    """The parts of a query string to redact from responses: the whole string, and each value that may be a token.

    A value may be a token if the name of its parameter says so, or if it is long and has letters and digits. Other
    values stay: rules read bodies, and `?status=pending` must not remove "pending" from them. Values are redacted as
    sent and decoded.
    """
    found = [query]
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if not value and _is_token(name):
            found.append(name)
        elif value and (_names_a_token(name) or _is_token(value)):
            found += [part, value]
    forms = [form for text in found for form in (text, unquote(text), unquote_plus(text))]
    return list(dict.fromkeys(form for form in forms if form))


def _names_a_token(name: str) -> bool:
    lower = unquote(name).lower()
    return speaks_of_a_secret(lower) or any(word in lower for word in PARAMETER_WORDS)


def _is_token(value: str) -> bool:
    plain = unquote(value)
    return (
        len(plain) >= TOKEN_CHARS_MIN
        and ":" not in plain
        and any(each.isdigit() for each in plain)
        and any(each.isalpha() for each in plain)
    )


def endpoint_secrets(endpoints: Iterable[Endpoint], opened: Callable[[str, str], str]) -> list[str]:
    """The secrets to redact from responses of these endpoints: secret headers, also without their scheme, and secret
    parts of query strings.

    If a secret cannot be decrypted, the error of `opened` is raised instead of skipping the secret: another process may
    decrypt it, and then its target can echo it.
    """
    found = []
    for endpoint in endpoints:
        action = endpoint.action
        for pair in kind_of(action).pairs_of(action):
            if pair.secret:
                value = opened(pair.value, pair_place(endpoint.tenant_id, endpoint.id, action, pair.name))
                found += [value, value.partition(" ")[2]]
        if query := query_of(action):
            found += query_secrets(opened(query, query_place(endpoint.tenant_id, endpoint.id)))
    return found
