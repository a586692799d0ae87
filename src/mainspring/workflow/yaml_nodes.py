"""Parse YAML text into nodes, fast and bounded: libyaml reads the text, every node is counted, and its depth is known.

libyaml is some fifty times as fast as a parser in Python. Its error messages are less useful, so a text that it refuses
is read again by ruamel.yaml, which reports where and why. Plain scalars follow YAML 1.2: `yes` and `on` are texts.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode as RuamelMapping
from ruamel.yaml.nodes import ScalarNode as RuamelScalar
from ruamel.yaml.nodes import SequenceNode as RuamelSequence

NODES_MAX: Final = 500_000
_SCALAR_CACHED: Final = 64  # characters; longer texts rarely occur twice
_PARSER: Final = getattr(yaml, "CParser", None)  # missing if PyYAML was built without libyaml

Pairs: TypeAlias = "list[tuple[YamlNode, YamlNode]]"


class Mark(NamedTuple):
    line: int
    column: int


class YamlNode:
    """A value of a document and its position. An alias is the same object as its target."""

    __slots__ = ("end_mark", "start_mark", "tag", "value")

    def __init__(self, tag: str, value: Any, start_mark: Mark, end_mark: Mark) -> None:
        self.tag = tag
        self.value = value  # the text of a scalar, the nodes of a sequence, the pairs of nodes of a mapping
        self.start_mark = start_mark
        self.end_mark = end_mark


class ScalarNode(YamlNode):
    __slots__ = ()


class SequenceNode(YamlNode):
    __slots__ = ()


class MappingNode(YamlNode):
    __slots__ = ()


class TooMuch(Exception):
    """The text has too many nodes or is nested too deep."""

    def __init__(self, mark: Mark, *, is_deep: bool) -> None:
        super().__init__("nested too deep" if is_deep else "too many values")
        self.mark = mark
        self.is_deep = is_deep


def compose_all(text: str, depth_max: int, nodes_max: int = NODES_MAX) -> list[YamlNode | None]:
    """The root of every document of a text; None for an empty one. Raises ruamel's YAMLError, or TooMuch."""
    if _PARSER is not None:
        try:
            return list(_Composer(_PARSER(text), depth_max, nodes_max).documents())
        except (yaml.YAMLError, ValueError):
            pass  # ruamel has the better message, or reads what libyaml does not
    slow = YAML(typ="safe", pure=True)
    slow.max_depth = depth_max
    return [None if root is None else _converted(root, {}) for root in slow.compose_all(text)]


class _Composer:
    """Builds nodes from events. The stack is a list, so no text can exhaust the interpreter's stack."""

    def __init__(self, parser: Any, depth_max: int, nodes_max: int) -> None:
        self._parser = parser
        self._depth_max = depth_max
        self._left = nodes_max
        self._anchors: dict[str, YamlNode] = {}
        self._open: list[YamlNode] = []
        self._items: list[list[YamlNode]] = []

    def documents(self) -> Iterator[YamlNode | None]:
        root: YamlNode | None = None
        while self._parser.check_event():
            event = self._parser.get_event()
            if isinstance(event, yaml.DocumentStartEvent):
                root, self._anchors = None, {}
            elif isinstance(event, yaml.DocumentEndEvent):
                yield root
            elif isinstance(event, yaml.NodeEvent):
                node = self._begun(event)
                if isinstance(event, yaml.CollectionStartEvent):
                    continue
                root = self._placed(node, root)
            elif isinstance(event, yaml.CollectionEndEvent):
                root = self._placed(self._ended(event), root)

    def _begun(self, event: Any) -> YamlNode:
        start, end = event.start_mark, event.end_mark
        mark = Mark(start.line, start.column)
        self._left -= 1
        if self._left < 0:
            raise TooMuch(mark, is_deep=False)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise yaml.YAMLError("undefined alias")
            return self._anchors[event.anchor]
        ending = Mark(end.line, end.column)
        tag = event.tag
        if isinstance(event, yaml.ScalarEvent):
            if tag is None or tag == "!":
                tag = _tag_of(event.value) if event.implicit[0] else "tag:yaml.org,2002:str"
            node: YamlNode = ScalarNode(tag, event.value, mark, ending)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = SequenceNode(tag or "tag:yaml.org,2002:seq", [], mark, ending)
        else:
            node = MappingNode(tag or "tag:yaml.org,2002:map", [], mark, ending)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        if not isinstance(node, ScalarNode):
            if len(self._open) >= self._depth_max:
                raise TooMuch(mark, is_deep=True)
            self._open.append(node)
            self._items.append([])
        return node

    def _ended(self, event: Any) -> YamlNode:
        node, items = self._open.pop(), self._items.pop()
        node.value = list(zip(items[::2], items[1::2], strict=True)) if isinstance(node, MappingNode) else items
        node.end_mark = Mark(event.end_mark.line, event.end_mark.column)
        return node

    def _placed(self, node: YamlNode, root: YamlNode | None) -> YamlNode | None:
        if not self._items:
            return node
        self._items[-1].append(node)
        return root


def _tag_of(text: str) -> str:
    return _tag_of_short(text) if len(text) <= _SCALAR_CACHED else _resolved(text)


@lru_cache(maxsize=4_096)
def _tag_of_short(text: str) -> str:
    return _resolved(text)


def _resolved(text: str) -> str:
    return str(_resolver().resolve(RuamelScalar, text, (True, False)))


@lru_cache(maxsize=1)
def _resolver() -> Any:
    return YAML(typ="safe", pure=True).resolver


def _converted(node: Any, known: dict[int, YamlNode]) -> YamlNode:
    if id(node) in known:
        return known[id(node)]
    start = Mark(node.start_mark.line, node.start_mark.column)
    end = Mark(node.end_mark.line, node.end_mark.column)
    tag = str(node.tag)
    if isinstance(node, RuamelScalar):
        made: YamlNode = ScalarNode(tag, node.value, start, end)
        known[id(node)] = made
        return made
    made = known[id(node)] = (SequenceNode if isinstance(node, RuamelSequence) else MappingNode)(tag, [], start, end)
    if isinstance(node, RuamelMapping):
        made.value = [(_converted(key, known), _converted(value, known)) for key, value in node.value]
    else:
        made.value = [_converted(each, known) for each in node.value]
    return made
