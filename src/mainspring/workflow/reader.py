"""Parse the parts of a document. A Reader collects every error with its path instead of stopping at the first."""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.name import shown
from mainspring.workflow.expression import Names, check_expression
from mainspring.workflow.step_secrets import MENTION, USE
from mainspring.workflow.template import expressions_of, is_broken
from mainspring.workflow.yaml_lines import Path, WorkflowFault, line_of, path_text

TEXT_CHARS_MAX: Final = 65_536
_ID: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_TYPE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,99}")
T = TypeVar("T")


class Reader:
    def __init__(
        self, lines: Mapping[Path, int], allow_ports: frozenset[int] = frozenset(), *, is_stored: bool = False
    ) -> None:
        self.lines = lines
        self.allow_ports = allow_ports
        self.is_stored = is_stored
        self.faults: list[WorkflowFault] = []
        self.names = Names()
        self.templates: Mapping[str, str] = {}
        self.secrets: tuple[str, ...] = ()  # that steps obtain, as `step.name`
        self.may_send_secrets = False  # in the request of a call

    def fault(self, path: Path, message: str) -> None:
        self.faults.append(WorkflowFault(path_text(path), message, line_of(self.lines, path)))

    def ask(self, path: Path, question: Callable[[], T]) -> T | None:
        """Calls a domain rule; its error becomes an error of this path."""
        try:
            return question()
        except InvalidInput as refusal:
            self.fault(path, f"is refused: {refusal}")
            return None

    def mapping(
        self, value: object, path: Path, keys: tuple[str, ...] | None, what: str, rule: str = ""
    ) -> Mapping[str, object] | None:
        """The mapping, whose keys must be among `keys`; for unknown keys the nearest known one is suggested."""
        if not isinstance(value, dict):
            expected = rule or f"{what} is a mapping{' with ' + ', '.join(keys) if keys else ''}"
            self.fault(path, f"{_found(value)}; {expected}: change it")
            return None
        for key in value:
            if keys is not None and key not in keys:
                self.fault(
                    (*path, key), f"is not known{did_you_mean(key, keys) or ';'} {what} may have {', '.join(keys)}"
                )
        return value

    def text(self, value: object, path: Path, *, required: bool = False) -> str:
        if not isinstance(value, str) or (required and not value.strip()):
            self.fault(path, f"{_found(value)}; write a text, in quotes if it is a number")
            return ""
        if len(value) > TEXT_CHARS_MAX or "\0" in value:
            self.fault(path, f"is longer than {TEXT_CHARS_MAX} characters or contains NUL; shorten it")
            return ""
        return value

    def texts(self, value: object, path: Path) -> dict[str, str]:
        given = self.mapping(value, path, None, "this")
        return {name: self.text(each, (*path, name)) for name, each in (given or {}).items()}

    def identifier(self, value: object, path: Path, what: str) -> str:
        if not isinstance(value, str) or not _ID.fullmatch(value):
            self.fault(
                path,
                f"{_found(value)}; {what} has a name of small letters, digits and _, up to 64, a letter first: "
                "write one",
            )
            return ""
        return value

    def event_type(self, value: object, path: Path) -> str:
        if not is_event_type(value):
            self.fault(path, f"{_found(value)}; an event type consists of letters, digits and . _ : - : write one")
            return ""
        return str(value)

    def one_of(self, value: object, path: Path, allowed: tuple[str, ...]) -> str:
        if value not in allowed:
            near = did_you_mean(value, allowed) if isinstance(value, str) else ""
            self.fault(path, f"is '{shown(value)}'{near or ';'} choose one of {', '.join(allowed)}")
            return allowed[0]
        return str(value)

    def count(self, value: object, path: Path, low: int, high: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.fault(path, f"{_found(value)}; give a whole number from {low:,} to {high:,}")
            return low
        return value

    def duration_ms(self, value: object, path: Path, low_ms: int, high_ms: int) -> int:
        return self.ask(path, lambda: parse_duration_ms(value, field="duration", min_ms=low_ms, max_ms=high_ms)) or 0

    def goto(self, value: object, path: Path, ids: tuple[str, ...]) -> str:
        """A step's id; `end` completes the execution."""
        if value == "end" and "end" not in ids:
            return ""
        if value not in ids:
            near = did_you_mean(value, ids) if isinstance(value, str) else ""
            self.fault(path, f"names the unknown step '{shown(value)}'{near or ';'} give the id of a step, or `end`")
            return ""
        return str(value)

    def expression(self, value: object, path: Path, *, is_condition: bool) -> str:
        if isinstance(value, bool | int):
            value = str(value).lower()
        if not isinstance(value, str):
            self.fault(path, f"{_found(value)}; a CEL expression is a text: write one such as 'vars.count > 3'")
            return ""
        trouble = check_expression(value, self.names, is_condition=is_condition) or self.wrong_secret(value)
        if trouble:
            self.fault(path, f"{shown(value)!r} {trouble}")
        return value

    def wrong_secret(self, expression: str) -> str:
        """What is wrong with how an expression uses a secret of a step; "" if nothing is."""
        if self.is_stored or not MENTION.search(expression):
            return ""
        use = USE.fullmatch(expression.strip())
        if use is None or not self.may_send_secrets:
            return (
                "reads a secret, which only url, headers and body of a call may send: write "
                "{{ steps.login.result.secrets.token }} there, alone in its braces"
            )
        name = f"{use[1]}.{use[2]}"
        if name in self.secrets:
            return ""
        return (
            f"reads the unknown secret {name!r}{did_you_mean(name, self.secrets) or ';'} "
            f"steps obtain {', '.join(self.secrets[:10]) or 'none'}"
        )

    def template(self, value: object, path: Path, *, required: bool = False) -> str:
        text = self.text(value, path, required=required)
        self.holes(text, path)
        return text

    def line(self, value: object, path: Path, *, required: bool = False) -> str:
        """A template for an email header."""
        text = self.template(value, path, required=required)
        if "\n" in text or "\r" in text:
            self.fault(path, "has a line break; an email header is a single line: remove it")
        return text

    def holes(self, value: object, path: Path) -> None:
        """Checks the expressions of a template, in a text or a structure."""
        if isinstance(value, str) and is_broken(value):
            self.fault(path, "has {{ without }} or the other way round; close what is open")
        elif isinstance(value, dict):
            for key, item in value.items():
                self.holes(item, (*path, key))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self.holes(item, (*path, index))
        elif isinstance(value, str):
            for text in expressions_of(value):
                trouble = check_expression(text, self.names, is_condition=False) or self.wrong_secret(text)
                if trouble:
                    self.fault(path, f"{{{{ {shown(text)} }}}} {trouble}")


def _found(value: object) -> str:
    return "is missing" if value is None else f"is '{shown(value)}'"


def is_event_type(value: object) -> bool:
    return isinstance(value, str) and _TYPE.fullmatch(value) is not None
