"""The templates in the texts of an action: where they are, whether they are valid, and the action filled in. Pure.

    url       percent-encoded; scheme, host and port are never chosen by a template
    header    without control characters
    body      JSON: escaped within quotes, a JSON value elsewhere; a form: percent-encoded; other texts: as it is
    escaped   without control characters, with backslashes escaped
    argument  as it is, without NUL

Secret headers and variables are never templates. The rule that must not break: an action that was filled in goes to the
same origin, and runs the same program, as its templates say.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from msgspec.structs import replace

from mainspring.domain import templates
from mainspring.domain.config_field import ConfigField, describe
from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.placeholders import OPEN, PLACEHOLDER, mask, unmask
from mainspring.domain.kinds.http import query_of
from mainspring.domain.kinds.registry import kind_of
from mainspring.domain.run import Action, Header, HttpAction, Request
from mainspring.domain.target import HIDDEN_QUERY, split_query
from mainspring.domain.templates import Evaluation, TemplateFacts, TemplateFault, WriteValue

WRITES: dict[str, WriteValue] = {
    "url": templates.as_url_part,
    "header": templates.as_header,
    "escaped": templates.as_escaped_line,
    "argument": templates.as_argument,
}
HIDDEN = "••••"  # in a preview, for parts of a query string that no template fills in
FORM = "application/x-www-form-urlencoded"
NOT_JSON = "is not JSON once its templates are filled in; put a text into quotes, and a value on its own place"
A = TypeVar("A", bound=Action)
Change = Callable[[ConfigField, str, str], str]  # of a text: its field, its name for people, the text


def check_templates(action: Action) -> None:
    """Raises InvalidInput that names the first invalid template."""
    if not hasattr(action, "literal") or action.literal:
        return
    for pair in kind_of(action).pairs_of(action):
        if pair.secret and OPEN in pair.value:
            kind = kind_of(action)
            raise InvalidInput(
                f"the secret {kind.pair} {pair.name[:60]!r} contains {{{{; secret values are sent unchanged and have "
                "no templates: remove the template, or set literal",
                field=kind.pairs,
                value=pair.name[:60],
            )

    def check(field: ConfigField, name: str, text: str) -> str:
        if OPEN in text:
            templates.check_template(text, name, field.key)
            if field.about.template == "body":
                _body_writes(action, text)
        return text

    _mapped(action, check)


def marked(action: A, *, already: bool = False) -> A:
    """The action, marked if its texts have templates. `already`: some encrypted texts do."""
    if not hasattr(action, "literal"):
        return action
    templated = not action.literal and (already or bool(_found(action)))
    return replace(action, templated=templated) if templated != action.templated else action


def keeps_templates(before: Action, query: str) -> bool:
    """Whether the encrypted query string of a stored action may have templates, and is still in use."""
    return before.templated and bool(query) and query == query_of(before)


def past_read_by(action: Action) -> frozenset[str]:
    """Which earlier runs its templates read."""
    return frozenset[str]().union(*(templates.past_read_by(text) for text in _found(action)))


def facts_of(request: Request) -> TemplateFacts:
    """What templates read of a request itself; earlier runs are read apart."""
    return TemplateFacts(
        request.slot_at, request.slot_id, request.attempt, request.tenant_id, request.endpoint_id, request.endpoint,
        request.job,
    )  # fmt: skip


def with_plain_query(action: Action, query: str) -> Action:
    """The action with its query string in the URL, no longer encrypted."""
    assert isinstance(action, HttpAction)  # no other kind has one
    return replace(action, url=f"{action.url.removesuffix(HIDDEN_QUERY)}?{query}", query="")


def filled_in(action: A, facts: TemplateFacts) -> A:
    """The action as called. Its URL is complete: an encrypted query string was put into it. Raises
    TemplateFault.
    """
    evaluation = Evaluation(facts)
    return _mapped(action, lambda field, name, text: _fill(evaluation, action, field, name, text))


def preview_of(action: Action, facts: TemplateFacts) -> list[tuple[str, str]]:
    """Every text with templates, by name, as it would be called. Literal parts of a query string stay hidden."""
    evaluation = Evaluation(facts)
    shown: list[tuple[str, str]] = []

    def show(field: ConfigField, name: str, text: str) -> str:
        if OPEN in text:
            hidden = _without_secrets(text) if field.about.template == "url" else text
            shown.append((name, _fill(evaluation, action, field, name, hidden)))
        return text

    _mapped(action, show)
    return shown


def _fill(evaluation: Evaluation, action: Action, field: ConfigField, name: str, text: str) -> str:
    if OPEN not in text:
        return text
    form = field.about.template
    if form == "body":
        try:
            writes = _body_writes(action, text)
        except InvalidInput as fault:
            raise TemplateFault(name, "", str(fault)) from None
        return evaluation.fill_each(text, name, writes)
    filled = evaluation.fill(text, name, WRITES[form])
    if form == "url" and not {".", ".."}.isdisjoint(split_query(filled)[0].split("/")):
        raise TemplateFault(name, "", "a part of the path is . or .., which would lead to another path; change it")
    return filled


def _body_writes(action: Action, text: str) -> list[WriteValue]:
    """How values are written into a body, by its content type, or by its beginning if it has none."""
    headers = {each.name.lower(): each.value.lower() for each in getattr(action, "headers", ())}
    type_ = headers.get("content-type", "")
    if type_.startswith(FORM):
        return [templates.as_form_part] * templates.PLACEHOLDERS_MAX
    start = text.lstrip()
    is_json = "json" in type_ if type_ else start[:1] in ("{", "[", '"') and not start.startswith(OPEN)
    if not is_json:
        return [templates.as_text] * templates.PLACEHOLDERS_MAX
    writes = templates.json_writes(text)
    if writes is None:
        raise InvalidInput(f"body {NOT_JSON}; or give another Content-Type", field="body")
    return writes


def _without_secrets(url: str) -> str:
    """A URL whose parameters are hidden, except for those that are nothing but templates."""
    path, mark, query = split_query(url)
    if not mark or mark + query == HIDDEN_QUERY:
        return url
    masked, found = mask(query)
    shown = []
    for part in masked.split("&"):
        name, equals, value = part.partition("=")
        is_open = value and not PLACEHOLDER.sub("", value)
        shown.append(part if is_open else f"{name}={HIDDEN}" if equals else HIDDEN)
    return path + mark + unmask("&".join(shown), found)


def _found(action: Action) -> list[str]:
    """The texts that have templates."""
    found: list[str] = []

    def note(field: ConfigField, name: str, text: str) -> str:
        if OPEN in text:
            found.append(text)
        return text

    _mapped(action, note)
    return found


def _mapped(action: A, change: Change) -> A:
    """The action with `change` applied to every text that may have templates."""
    values: dict[str, Any] = {}
    for field in _fields(type(action)):
        value = getattr(action, field.name)
        if isinstance(value, str):
            values[field.name] = change(field, field.key, value)
        elif value:
            values[field.name] = tuple(_changed(field, number, each, change) for number, each in enumerate(value))
    return replace(action, **values)


def _changed(field: ConfigField, number: int, each: str | Header, change: Change) -> str | Header:
    if isinstance(each, str):
        return change(field, f"{field.key}[{number}]", each)
    return each if each.secret else replace(each, value=change(field, f"{field.key}.{each.name}", each.value))


@cache
def _fields(action: type[Action]) -> tuple[ConfigField, ...]:
    return tuple(field for field in describe(action) if field.about.template)
