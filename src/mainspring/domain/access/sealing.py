"""What secrets are sealed to: each opens in its own place alone. Those of subscriptions are in `subscription`. Pure."""

from collections.abc import Callable, Iterable
from urllib.parse import unquote, unquote_plus

from mainspring.domain.definition import speaks_of_a_secret
from mainspring.domain.endpoint import Endpoint

TOKEN_CHARS_MIN = 20  # a shorter value of an innocent name is a word, a number or a date, and bodies are full of them
PARAMETER_WORDS = ("key", "sig", "auth", "pass", "pwd", "code", "credential", "jwt", "session")


def header_place(tenant_id: str, endpoint_id: str, name: str) -> str:
    return f"{tenant_id}|{endpoint_id}|header:{name.lower()}"


def query_place(tenant_id: str, endpoint_id: str) -> str:
    return f"{tenant_id}|{endpoint_id}|query"


def signing_place(tenant_id: str) -> str:
    return f"{tenant_id}|signing"


def answer_place(tenant_id: str, actor: str, key: str) -> str:
    """Of an answer kept for an Idempotency-Key, and of the request it answers."""
    return f"{tenant_id}|answer|{actor}|{key}"


def second_factor_place(user_id: str) -> str:
    return f"second factor|{user_id}"


def query_secrets(query: str) -> list[str]:
    """What is removed from what a target answers: the query string, and each of its values that may be a token.

    A value may be one if its parameter's name says so, or if it is long and mixes letters with digits. All others stay:
    rules read bodies, and `?status=pending` must not remove "pending" from them. Each in every form that it is echoed
    in: as it was sent, and decoded.
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
    """What must not be told of what these endpoints answer: secret headers, also without the scheme in front, and the
    secret parts of query strings.

    One that does not open is not left out, but raises what `opened` does: whoever calls may be able to open it, and
    then its target can echo it.
    """
    found = []
    for endpoint in endpoints:
        for header in endpoint.action.headers:
            if header.secret:
                value = opened(header.value, header_place(endpoint.tenant_id, endpoint.id, header.name))
                found += [value, value.partition(" ")[2]]
        if endpoint.action.query:
            found += query_secrets(opened(endpoint.action.query, query_place(endpoint.tenant_id, endpoint.id)))
    return found
