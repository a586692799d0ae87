"""Texts with `{{ expression }}` in them, and JSON bodies of such texts. CEL only: no clock, no randomness."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from mainspring.domain.expressions.placeholders import PLACEHOLDER
from mainspring.workflow.audit import canonical
from mainspring.workflow.expression import Failure, evaluate

RENDERED_CHARS_MAX: Final = 65_536
_STRAY: Final = re.compile(r"\{\{|\}\}")


def expressions_of(value: object) -> Iterator[str]:
    """Every expression in a template, in a text or a structure with texts in it."""
    if isinstance(value, str):
        yield from (hole.strip() for hole in PLACEHOLDER.findall(value))
    elif isinstance(value, dict):
        for item in value.values():
            yield from expressions_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from expressions_of(item)


def is_broken(text: str) -> bool:
    """Whether braces are unbalanced."""
    return _STRAY.search(PLACEHOLDER.sub("", text)) is not None


def render_text(text: str, data: Mapping[str, object], size: int) -> str | Failure:
    """The text with every placeholder filled: texts unchanged, everything else as JSON."""
    if "{{" not in text:
        return text
    parts: list[str] = []
    end = 0
    for hole in PLACEHOLDER.finditer(text):
        value = evaluate(hole[1].strip(), data, size)
        if isinstance(value, Failure):
            return Failure(f"{{{{ {hole[1].strip()} }}}} {value.text}")
        parts += [text[end : hole.start()], value if isinstance(value, str) else _shown(value)]
        end = hole.end()
    rendered = "".join([*parts, text[end:]])
    if len(rendered) > RENDERED_CHARS_MAX:
        return Failure(f"is {len(rendered)} characters long when filled in; at most {RENDERED_CHARS_MAX} are allowed")
    return rendered


def render(value: object, data: Mapping[str, object], size: int) -> object:
    """Fills structures. A text that is a single placeholder becomes the value itself."""
    if isinstance(value, str):
        whole = PLACEHOLDER.fullmatch(value.strip())
        if whole and "{{" not in whole[1]:
            answer = evaluate(whole[1].strip(), data, size)
            return Failure(f"{value.strip()} {answer.text}") if isinstance(answer, Failure) else answer
        return render_text(value, data, size)
    if isinstance(value, dict):
        pairs = {key: render(item, data, size) for key, item in value.items()}
        return next((item for item in pairs.values() if isinstance(item, Failure)), pairs)
    if isinstance(value, list):
        items = [render(item, data, size) for item in value]
        return next((item for item in items if isinstance(item, Failure)), items)
    return value


def render_request(request: Mapping[str, object], data: Mapping[str, object], size: int) -> dict[str, object] | Failure:
    """Fills a request: its texts stay texts; a JSON body keeps the types of its values."""
    rendered: dict[str, object] = {}
    for name, value in request.items():
        if isinstance(value, str):
            filled: object = render_text(value, data, size)
        elif name == "headers" and isinstance(value, dict):
            headers = {key: render_text(text, data, size) for key, text in value.items()}
            filled = next((text for text in headers.values() if isinstance(text, Failure)), headers)
        else:
            filled = render(value, data, size)
        if isinstance(filled, Failure):
            return Failure(f"{name} {filled.text}")
        rendered[name] = filled
    return rendered


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, float) else canonical(value).decode()
