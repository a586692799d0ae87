"""Placeholders: `{{ expression }}` in a text. One syntax for workflows and endpoints. Pure."""

import re
from typing import Final

OPEN: Final = "{{"
PLACEHOLDER: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NUMBERED: Final = re.compile(r"\{\{(\d+)\}\}")


def mask(text: str) -> tuple[str, list[str]]:
    """The text with numbers for its placeholders, and the placeholders: nothing in them can be taken for the text."""
    if OPEN not in text:
        return text, []
    found: list[str] = []

    def number(placeholder: re.Match[str]) -> str:
        found.append(placeholder[0])
        return f"{{{{{len(found) - 1}}}}}"

    return PLACEHOLDER.sub(number, text), found


def unmask(text: str, placeholders: list[str]) -> str:
    return _NUMBERED.sub(lambda number: placeholders[int(number[1])], text) if placeholders else text


def is_unclosed(text: str) -> bool:
    """Whether braces open a placeholder that nothing closes. Closing braces alone are text: JSON is full of them."""
    return OPEN in PLACEHOLDER.sub("", text)
