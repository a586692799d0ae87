"""Secrets that a `call` step obtains and later steps send: how documents name them, how logs refer to them. Pure.

    - id: login
      call: {url: https://example.com/token, method: POST, secrets: {token: response.body.access_token}}
    - id: report
      call:
        url: https://example.com/report
        headers: {Authorization: "Bearer {{ steps.login.result.secrets.token }}"}

The result of `login` has an encrypted reference in place of the secret, so the engine computes, logs and replays
without a
key. The rule that must not break: only the dispatcher opens a reference, just before sending, and only one that the
document of that step names.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from mainspring.workflow.template import expressions_of

HIDDEN: Final = "••••"
SECRETS_MAX: Final = 10  # of one step
HIDDEN_CHARS_MIN: Final = 6  # a shorter secret occurs in every text
MENTION: Final = re.compile(r"\bresult\s*\.\s*secrets\b")
USE: Final = re.compile(r"steps\.([a-z][a-z0-9_]*)\.result\.secrets\.([a-z][a-z0-9_]*)")
SOURCE: Final = re.compile(r"response\.(?:body((?:\.[A-Za-z_][A-Za-z0-9_]*)+)|headers\[(['\"])([A-Za-z0-9-]+)\2\])")
REFERENCE: Final = re.compile(r"<secret ([a-z][a-z0-9_]*\.[a-z][a-z0-9_]*) ([A-Za-z0-9._=-]+)>")


def uses_of(value: object) -> tuple[str, ...]:
    """The secrets that the templates of a request name, as `step.name`."""
    found = {f"{use[1]}.{use[2]}" for text in expressions_of(value) if (use := USE.fullmatch(text))}
    return tuple(sorted(found))


def secret_context(tenant_id: str, execution_id: str, name: str) -> str:
    """Encryption context: a reference opens in its execution only."""
    return f"{tenant_id}|{execution_id}|step secret:{name}"


def reference(name: str, sealed: str) -> str:
    return f"<secret {name} {sealed}>"


def find_secret(source: str, headers: Mapping[str, str], body: object) -> str | None:
    """The text or number at a source such as `response.body.access_token`; None if the response does not have one."""
    found = SOURCE.fullmatch(source)
    assert found is not None, source  # checked when the document was read
    if found[3]:
        return headers.get(found[3].lower()) or None
    for key in found[1].split(".")[1:]:
        body = body.get(key) if isinstance(body, dict) else None
    return str(body) if isinstance(body, str | int) and not isinstance(body, bool) and body != "" else None


def without_secrets(value: object, sources: Mapping[str, str], secrets: list[str]) -> object:
    """A body without its secrets: hidden at their places, and wherever else they occur."""
    for source in sources.values():
        found = SOURCE.fullmatch(source)
        assert found is not None, source
        if found[1]:
            value = _hidden_at(value, found[1].split(".")[1:])
    texts = [each for each in secrets if len(each) >= HIDDEN_CHARS_MIN]
    return mapped_texts(value, lambda text: _without(text, texts))


def shown(value: object) -> object:
    """A value for people: references without their encrypted text."""
    return mapped_texts(value, lambda text: REFERENCE.sub(r"<secret \1>", text) if "<secret " in text else text)


def mapped_texts(value: object, change: Callable[[str], str]) -> object:
    """A structure with every text changed, keys included."""
    match value:
        case str():
            return change(value)
        case dict():
            return {change(key): mapped_texts(item, change) for key, item in value.items()}
        case list():
            return [mapped_texts(item, change) for item in value]
    return value


def _hidden_at(value: object, keys: list[str]) -> object:
    if not keys:
        return HIDDEN
    assert isinstance(value, dict)  # the secret was found there
    return {**value, keys[0]: _hidden_at(value[keys[0]], keys[1:])}


def _without(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text
