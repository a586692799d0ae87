"""Bound the calls of `matches` in an expression, when it is written and again when it is evaluated. Pure.

CEL holds the interpreter lock while it searches. So a pattern must be written as a text, where its states can be
counted, and the time for all calls over values of a given size stays within SEARCH_NS_MAX. Expressions that were stored
earlier are bounded too: every evaluation asks `too_long_search` first.
"""

from collections.abc import Mapping
from functools import lru_cache

from mainspring.domain.expressions.environment import new_environment
from mainspring.domain.expressions.map_order import ROUNDS_MAX, closings, tokens_of
from mainspring.domain.expressions.pattern import SEARCH_NS_MAX, compile_ns, search_ns, wrong_pattern

LITERALS_MAX = 1_000  # elements that the text of an expression itself can list


def wrong_search(text: str) -> str:
    """What is wrong with a call of `matches`, with the fix; "" if nothing is."""
    for pattern in _patterns(text):
        if pattern is None:
            return "calls matches with a pattern that is computed; write it as one text, such as matches('^ok')"
        if wrong := wrong_pattern(pattern):
            return f"calls matches with the pattern {pattern[:60]!r}, which {wrong}"
    return ""


def too_long_search(text: str, work: float, nodes: int, depth: int) -> str:
    """Why an expression is not evaluated over values of this size; "" if it is.

    `work` is the number of bytes that it may touch, `depth` that of its loops within loops.
    """
    patterns = _patterns(text)
    if not patterns:
        return ""
    if wrong := wrong_search(text):
        return wrong
    rounds = min(ROUNDS_MAX, float(nodes + LITERALS_MAX) ** depth)
    known = [each for each in patterns if each is not None]
    if sum(search_ns(each, work) + compile_ns(each) * (rounds - 1) for each in known) > SEARCH_NS_MAX:
        return (
            f"may search {work:,.0f} bytes for patterns, up to {rounds:,.0f} times, which takes too long; shorten the "
            "patterns, lower their counts, or search smaller texts"
        )
    return ""


def has_search(text: str) -> bool:
    return bool(_patterns(text))


def values_in(data: object) -> int:
    """How many values there are in plain data; at most as many as a loop has rounds."""
    count, level = 0, [data]
    while level and count <= ROUNDS_MAX:
        count += len(level)
        level = [child for parent in level for child in _children(parent)]
    return min(count, ROUNDS_MAX)


def _children(parent: object) -> list[object]:
    if isinstance(parent, Mapping):
        return list(parent.values())
    return parent if isinstance(parent, list) else []


@lru_cache(maxsize=1_024)
def _patterns(text: str) -> tuple[str | None, ...]:
    """The pattern of each call; None if it is not one text."""
    if "matches" not in text:
        return ()
    tokens = tokens_of(text)
    texts = [token for _, token, _ in tokens]
    closed_at = closings(texts)
    found: list[str | None] = []
    for at, (kind, token, _) in enumerate(tokens):
        if kind != "name" or token != "matches" or texts[at + 1 : at + 2] != ["("]:
            continue
        last = closed_at[at + 1] - 1
        is_member = at > 0 and texts[at - 1] == "."
        is_alone = last == at + 2 if is_member else texts[last - 1] == ","
        found.append(_literal(texts[last]) if is_alone and tokens[last][0] == "text" else None)
    return tuple(found)


def _literal(text: str) -> str | None:
    """The value of a text as CEL reads it; None for bytes, and for what CEL refuses."""
    try:
        value = new_environment({}, []).compile(text).eval(data={}).value()
    except RuntimeError:
        return None
    return value if isinstance(value, str) else None
