"""Search a text for a regular expression: RE2, with a bound on its time. Pure.

RE2 takes time linear in the text, but a text of 1 MB takes 25 s with `(a|b)*a(a|b){1000}c`: it then walks all states of
the pattern for each byte, and holds the interpreter lock meanwhile. CEL also compiles the pattern at every call, which
takes 1 ms for a class of Unicode. `search_ns` estimates both from the text of the pattern;
`tests/domain/test_pattern.py` measures hostile ones.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.environment import new_environment
from mainspring.domain.run import PATTERN_MAX
from mainspring.domain.text import clean_text

if TYPE_CHECKING:
    from cel_expr_python import cel

STATES_MAX = 300
BYTES_MAX = 1_000_000
CLASS_STATES = 5  # of a set of characters, which is several ranges of bytes
SCRIPT_STATES = 100  # of a set of Unicode, such as \pL
SEARCH_NS_MAX = 80_000_000
CALL_NS = 5_000
STATE_NS = 500  # to compile it
SCRIPT_NS = 1_500_000
FIRST_BYTES = 100_000  # until here the automaton is built, which takes longer: 3 ns for each state and byte, then 2

_SCRIPT = re.compile(r"\\[pP]")
_PART = re.compile(
    r"(?P<count>\{(?P<least>\d*)(?:,(?P<most>\d*))?\})"
    r"|(?P<set>\\[pP](?:\{[^}]*\}|.)|\\[dswDSW]|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]])*\]|\.)"
    r"|(?P<one>\\.|.)",
    re.DOTALL,
)


def check_pattern(text: str, body_cap: int) -> None:
    """Raises InvalidInput(field="matches") unless a response of `body_cap` bytes is searched within 80 ms."""
    if wrong := wrong_pattern(text):
        raise _refused(wrong)
    if body_cap > BYTES_MAX:
        raise _refused(f"would search {body_cap:,} bytes; at most {BYTES_MAX:,} are searched; lower body_cap")
    if (most := bytes_searched(text)) < body_cap:
        raise _refused(
            f"has about {states_of(text)} states and may search {most:,} bytes, but body_cap is {body_cap:,}; "
            "shorten the pattern, lower its counts or lower body_cap"
        )


@lru_cache(maxsize=1_024)
def wrong_pattern(text: str) -> str:
    """Why a pattern is never searched for; "" if it is."""
    if len(text) > PATTERN_MAX or (states := states_of(text)) > STATES_MAX:
        size = f"{len(text)} characters" if len(text) > PATTERN_MAX else f"about {states} states"
        return (
            f"has {size}; at most {PATTERN_MAX} characters and {STATES_MAX} states are allowed, and {{n}} "
            "multiplies them; shorten it or lower its counts"
        )
    if any(part["one"] == r"\Q" for part in _PART.finditer(text)):  # it would hide counts from `states_of`
        return r"quotes with \Q; write a backslash before each special character instead"
    answer = _search().eval(data={"text": "", "pattern": text})
    if answer.type().name() == "ERROR":
        words = str(answer.value()).partition("invalid regular expression: ")[2] or str(answer.value())
        return f"is not a regular expression of RE2: {clean_text(words, 200)}; correct it"
    return ""


def is_found(text: str, body: bytes) -> bool:
    """Whether a valid pattern matches somewhere in a body of UTF-8, as much of it as may be searched."""
    most = min(BYTES_MAX, bytes_searched(text))  # of a pattern that was stored under another bound
    plain = body[:most].decode("utf-8", "replace").replace("\0", "\ufffd")  # CEL ends a text at NUL
    answer = _search().eval(data={"text": plain, "pattern": text})
    return answer.value() is True


def states_of(text: str) -> int:
    """At least as many states as the pattern has: counts multiply all of it, wherever they are."""
    states, times = 0, 1
    for part in _PART.finditer(text):
        if part["count"]:
            counts = [int(each[:5]) for each in (part["least"], part["most"]) if each]
            times *= max(1, *counts, 0)
        if part["set"]:
            states += CLASS_STATES + SCRIPT_STATES * len(_SCRIPT.findall(part["set"]))
        else:
            states += 1
    return states * times


def compile_ns(text: str) -> int:
    return CALL_NS + STATE_NS * states_of(text) + SCRIPT_NS * len(_SCRIPT.findall(text))


def search_ns(text: str, size: float) -> float:
    """The worst time to search for the pattern in a text of `size` bytes."""
    return compile_ns(text) + states_of(text) * (2 * size + min(size, FIRST_BYTES))


def bytes_searched(text: str) -> int:
    """How large a text may be that is searched within SEARCH_NS_MAX."""
    left, states = SEARCH_NS_MAX - compile_ns(text), max(1, states_of(text))
    return max(0, min(left // (3 * states), FIRST_BYTES) + max(0, left // states - 3 * FIRST_BYTES) // 2)


@lru_cache(maxsize=1)
def _search() -> "cel.Expression":
    from cel_expr_python import cel  # takes 40 ms; delayed until the first pattern

    environment = new_environment({"text": cel.Type.STRING, "pattern": cel.Type.STRING}, [])
    return environment.compile("text.matches(pattern)")


def _refused(what: str) -> InvalidInput:
    return InvalidInput(f"the pattern {what}", field="matches")
