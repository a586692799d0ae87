"""Parse YAML (and so JSON) into plain data, with the line of every value. Bounded: aliases cannot inflate a
document.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from mainspring.domain.errors import InvalidInput

if TYPE_CHECKING:
    from mainspring.workflow.yaml_nodes import YamlNode

TEXT_CHARS_MAX: Final = 500_000
NODES_MAX: Final = 50_000
DEPTH_MAX: Final = 50
COMPOSED_DEPTH_MAX: Final = DEPTH_MAX + 10  # so that a document slightly too deep gets our own message
_TAG: Final = "tag:yaml.org,2002:"
_WORDS: Final = {"true": True, "false": False}

Path = tuple[str | int, ...]


class WorkflowFault(Struct, frozen=True):
    """One error in a document: where it is, and what to do."""

    path: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}, " if self.line else ""
        return f"{where}{self.path or 'document'} {self.message}"


def path_text(path: Path) -> str:
    """`steps[2].branch.cases[0].when`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def read_yaml(text: str) -> tuple[object, dict[Path, int]]:
    """The document as plain data, and the line of every path. Raises InvalidInput with line and column."""
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # takes 40 ms, paid only by readers of documents

    from mainspring.workflow.yaml_nodes import TooMuch, compose_all

    if len(text) > TEXT_CHARS_MAX:
        raise _refused(f"is {len(text)} characters long; at most {TEXT_CHARS_MAX} are allowed; split the workflow")
    try:
        roots = compose_all(text, COMPOSED_DEPTH_MAX, NODES_MAX)
    except TooMuch as fault:
        raise (_too_deep(fault.mark.line) if fault.is_deep else _too_many()) from None
    except MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        if str(fault.problem).startswith("maximum depth"):
            raise _too_deep(mark.line if mark else 0) from None
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise _refused(f"cannot be read at {place}{fault.problem or fault.context}; correct it") from None
    except RecursionError:
        raise _refused(f"is nested more than {DEPTH_MAX} deep; flatten it") from None
    except (YAMLError, ValueError) as fault:
        raise _refused(f"cannot be read: {str(fault).splitlines()[0][:200]}; it must be YAML or JSON") from None
    if len(roots) > 1:
        raise _refused("contains several documents: a second one starts after ---; keep one")
    node = roots[0] if roots else None
    if node is None:
        raise _refused("is empty; a workflow is a mapping with name and steps: write one")
    lines: dict[Path, int] = {}
    return _plain(node, (), lines), lines


def _plain(node: "YamlNode", path: Path, lines: dict[Path, int]) -> object:
    if len(lines) > NODES_MAX:
        raise _too_many()
    if len(path) > DEPTH_MAX:
        raise _too_deep(node.start_mark.line)
    lines[path] = node.start_mark.line + 1
    kind = type(node).__name__
    if kind == "MappingNode":
        return _mapping(node.value, path, lines)
    if kind == "SequenceNode":
        return [_plain(item, (*path, index), lines) for index, item in enumerate(node.value)]
    return _scalar(node)


def _mapping(pairs: "list[tuple[YamlNode, YamlNode]]", path: Path, lines: dict[Path, int]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in pairs:
        line = key.start_mark.line + 1
        if not isinstance(key.value, str):
            raise _refused(f"has a key that is not text at line {line}; keys are names: write one")
        if key.value in values:
            raise _refused(f"has the key {key.value!r} twice in one mapping, again at line {line}; keep one")
        values[key.value] = _plain(value, (*path, key.value), lines)
    return values


def _scalar(node: "YamlNode") -> object:
    """Timestamps stay texts: what a workflow hashes must not depend on how a library prints a date."""
    text, kind = str(node.value), str(node.tag).removeprefix(_TAG)
    if kind == "null":
        return None
    if kind == "bool":
        return _WORDS.get(text.lower(), text)
    if kind in ("int", "float"):
        try:
            return int(text.replace("_", ""), 0) if kind == "int" else float(text.replace("_", ""))
        except ValueError:
            return text
    return text


def line_of(lines: Mapping[Path, int], path: Path) -> int | None:
    """The line of the value, or of the nearest existing parent."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def _too_many() -> InvalidInput:
    return _refused(f"has more than {NODES_MAX} values, counting each use of an alias; shorten it")


def _too_deep(line: int) -> InvalidInput:
    return _refused(f"is nested more than {DEPTH_MAX} deep at line {line + 1}; flatten it")


def _refused(what: str) -> InvalidInput:
    return InvalidInput(f"the document {what}", field="document")
