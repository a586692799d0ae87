"""Read untrusted YAML: plain values, each with its position.

Nothing is executed, nothing is guessed: tags, duplicate keys, tabs, binary data, and files that are huge or grow by
their aliases are errors with a position, not tracebacks.
"""

import math
import re

from msgspec import Struct
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from mainspring.documents.faults import DocumentFault, InvalidDocument, SourcePlace
from mainspring.workflow.yaml_nodes import MappingNode, ScalarNode, SequenceNode, TooMuch, YamlNode, compose_all

BYTES_MAX = 5_000_000  # some 20,000 endpoints; reading takes about 4 s per MB
VALUES_MAX = 300_000  # after aliases were expanded
DEPTH_MAX = 50

Path = tuple[str | int, ...]
_TAG = "tag:yaml.org,2002:"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_IN_OTHER_WORDS = {
    "mapping values are not allowed here": "a ': ' is not allowed here; put text that contains ': ' in quotes, "
    "or check the indentation",
    "could not find expected ':'": "a key without its ':'; write `key: value`",
    "expected <block end>, but found '<block mapping start>'": "this line is indented differently from its neighbours; "
    "keys of one mapping start in one column",
}


class Tree(Struct):
    """One YAML document: its value, and the positions of its keys and values by path."""

    file: str
    lines: list[str]
    value: object
    keys: dict[Path, YamlNode]
    values: dict[Path, YamlNode]

    def key(self, path: Path) -> SourcePlace:
        """The position of the key that leads to this path, or of its nearest parent."""
        return self._place(self.keys, path)

    def at(self, path: Path) -> SourcePlace:
        """The position of the value at this path."""
        return self._place(self.values, path)

    def _place(self, nodes: dict[Path, YamlNode], path: Path) -> SourcePlace:
        for length in range(len(path), -1, -1):
            node = nodes.get(path[:length]) or self.keys.get(path[:length])
            if node is not None:
                return _place(self.file, self.lines, node)
        return SourcePlace(self.file, source=self.lines[0] if self.lines else "")


def read_documents(file: str, data: bytes) -> list[Tree]:
    """Every YAML document of a file. Raises InvalidDocument with all errors that prevent reading it."""
    text = _decoded(file, data)
    lines = text.splitlines()
    faults: list[DocumentFault] = []
    trees: list[Tree] = []
    try:
        for node in compose_all(text, DEPTH_MAX, VALUES_MAX):
            if node is None:
                continue
            tree = Tree(file, lines, None, {}, {})
            builder = _Builder(tree, faults)
            tree.value = builder.build(node, ())
            trees.append(tree)
    except MarkedYAMLError as fault:
        faults.append(_syntax(file, lines, fault))
    except (YAMLError, ValueError) as fault:
        faults.append(DocumentFault(SourcePlace(file), f"not YAML: {str(fault).splitlines()[0]}"))
    except RecursionError:
        faults.append(DocumentFault(SourcePlace(file), f"nested too deep; at most {DEPTH_MAX} levels are read"))
    except TooMuch as fault:
        deep, many = f"at most {DEPTH_MAX} levels are read", f"at most {VALUES_MAX:,} values are read: split the file"
        what = f"{fault}; {deep if fault.is_deep else many}"
        faults.append(DocumentFault(_spot(file, lines, fault.mark.line, fault.mark.column), what))
    except _Unbuildable as fault:
        faults.append(DocumentFault(fault.place, str(fault)))
    if faults:
        raise InvalidDocument(faults)
    return trees


def _decoded(file: str, data: bytes) -> str:
    if len(data) > BYTES_MAX:
        raise _refused(file, f"{len(data):,} bytes; at most {BYTES_MAX:,} are read: split it into several files")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise _refused(file, "not UTF-8 text; save the file as UTF-8", line) from None
    if found := _CONTROL.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise _refused(file, f"a control character (U+{ord(found[0]):04X}); this is not a text file", line)
    return text


class _Unbuildable(Exception):
    def __init__(self, message: str, place: SourcePlace) -> None:
        super().__init__(message)
        self.place = place


class _Builder:
    """Turns nodes into plain values, and records their positions; aliases count as often as they are used."""

    def __init__(self, tree: Tree, faults: list[DocumentFault]) -> None:
        self._tree = tree
        self._faults = faults
        self._open: set[int] = set()
        self._count = 0

    def build(self, node: YamlNode, path: Path) -> object:
        self._tree.values[path] = node
        self._step(node)
        if id(node) in self._open:
            raise _Unbuildable("an alias leads back into itself; write its content out", self._place(node))
        if len(path) > DEPTH_MAX:
            raise _Unbuildable(f"nested too deep; at most {DEPTH_MAX} levels are read", self._place(node))
        self._open.add(id(node))
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, path)
            if isinstance(node, SequenceNode):
                return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
            assert isinstance(node, ScalarNode)
            return self._scalar(node)
        finally:
            self._open.discard(id(node))

    def _step(self, node: YamlNode, steps: int = 1) -> None:
        """Every value that is built and every pair that a merge reads is a step."""
        self._count += steps
        if self._count > VALUES_MAX:
            message = f"more than {VALUES_MAX:,} values once aliases are followed; write less, or split the file"
            raise _Unbuildable(message, self._place(node))

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, object]:
        found: dict[str, object] = {}
        merged: list[MappingNode] = []
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self._fault(key, "a key that is a list or a mapping; keys are text")
            elif key.tag == _TAG + "merge":
                merged.extend(self._merged(value))
            elif key.value in found:
                first = self._place(self._tree.keys[*path, key.value])
                self._fault(key, f"{key.value!r} is given twice; the first one is in line {first.line}")
            else:
                self._tree.keys[*path, key.value] = key
                found[key.value] = self.build(value, (*path, key.value))
        for other in merged:
            for name, value in self._mapping_without(other, found, path).items():
                found[name] = value
        return found

    def _mapping_without(self, node: MappingNode, present: dict[str, object], path: Path) -> dict[str, object]:
        """What a merged mapping adds: the keys that are not present."""
        if id(node) in self._open:
            raise _Unbuildable("a merge leads back into itself; write its content out", self._place(node))
        self._step(node, 1 + len(node.value))
        kept = MappingNode(
            node.tag,
            [pair for pair in node.value if not isinstance(pair[0], ScalarNode) or pair[0].value not in present],
            node.start_mark,
            node.end_mark,
        )
        self._open.add(id(node))
        try:
            return self._mapping(kept, path)
        finally:
            self._open.discard(id(node))

    def _merged(self, value: YamlNode) -> list[MappingNode]:
        items = value.value if isinstance(value, SequenceNode) else [value]
        self._step(value, len(items))
        mappings = [item for item in items if isinstance(item, MappingNode)]
        if len(mappings) < len(items):
            self._fault(value, "`<<` merges a mapping, or a list of mappings; give it an alias such as *defaults")
        return mappings

    def _scalar(self, node: ScalarNode) -> object:
        text: str = node.value
        kind = str(node.tag).removeprefix(_TAG)
        if kind in ("str", "timestamp", "value"):
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        if kind == "int":
            return _whole(text)
        if kind == "float":
            return _fraction(text)
        self._fault(node, f"the tag {node.tag!r} is unknown; remove it")
        return None

    def _fault(self, node: YamlNode, message: str) -> None:
        self._faults.append(DocumentFault(self._place(node), message))

    def _place(self, node: YamlNode) -> SourcePlace:
        return _place(self._tree.file, self._tree.lines, node)


def _whole(text: str) -> object:
    plain = text.replace("_", "")
    try:
        return int(plain) if plain.lstrip("+-").isdigit() else int(plain, 0)
    except ValueError:  # more digits than Python reads, or old-style octal: treated as text
        return text


def _fraction(text: str) -> object:
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _place(file: str, lines: list[str], node: YamlNode) -> SourcePlace:
    start, end = node.start_mark, node.end_mark
    line = lines[start.line] if start.line < len(lines) else ""
    is_short = isinstance(node, ScalarNode) and end.line == start.line
    length = end.column - start.column if is_short else 1
    return SourcePlace(file, start.line + 1, start.column + 1, max(1, length), line)


def _spot(file: str, lines: list[str], line: int, column: int) -> SourcePlace:
    return SourcePlace(file, line + 1, column + 1, 1, lines[line] if line < len(lines) else "")


def _syntax(file: str, lines: list[str], fault: MarkedYAMLError) -> DocumentFault:
    mark = fault.problem_mark or fault.context_mark
    if mark is not None and mark.line >= len(lines):  # the error was noticed at the end; its start is more useful
        mark = fault.context_mark or mark
    problem = fault.problem or fault.context or "it cannot be read"
    if problem.startswith("maximum depth"):
        problem = f"nested too deep; at most {DEPTH_MAX} levels are read"
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    source = lines[line] if line < len(lines) else ""
    if "\\t" in problem or "\t" in source[: len(source) - len(source.lstrip())]:
        column, message = source.find("\t"), "a tab; YAML is indented with spaces only"
    else:
        message = f"not YAML: {_IN_OTHER_WORDS.get(problem, problem)}"
        if problem not in _IN_OTHER_WORDS and fault.context:
            message += f" ({fault.context})"
    return DocumentFault(SourcePlace(file, line + 1, max(0, column) + 1, 1, source), message)


def _refused(file: str, message: str, line: int = 1) -> InvalidDocument:
    return InvalidDocument([DocumentFault(SourcePlace(file, line), message)])
