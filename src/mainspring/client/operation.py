"""One operation of the API: turns arguments into a request. `table` lists all operations."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from keyword import iskeyword
from typing import Any, Literal
from urllib.parse import quote

Kind = Literal["json", "bytes", "nothing", "stream"]
IN_PATH = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Operation:
    """`body` names the fields of its JSON body, `is_paged` says that it returns a list page by page."""

    group: str
    name: str
    id: str
    method: str
    path: str
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    answer: Kind = "json"
    is_paged: bool = False

    @property
    def in_path(self) -> list[str]:
        return IN_PATH.findall(self.path)

    def request(self, places: tuple[object, ...], given: Mapping[str, object]) -> "ClientRequest":
        """The request for these arguments: path parameters first, in order, the rest by name."""
        if len(places) > len(self.in_path):
            raise TypeError(f"{self}() takes {len(self.in_path)} positional arguments, and {len(places)} were given")
        # `except_` is the argument `except`, which Python does not allow as a name.
        plain = {
            name[:-1] if name.endswith("_") and iskeyword(name[:-1]) else name: each for name, each in given.items()
        }
        named = dict(zip(self.in_path, places, strict=False)) | plain
        known = (*self.in_path, *self.query, *self.headers, *self.body)
        for name in named:
            if name not in known:
                near = get_close_matches(name, known, n=1, cutoff=0.6)
                hint = f", did you mean {near[0]!r}?" if near else f"; it takes {', '.join(known) or 'none'}"
                raise TypeError(f"{self}() has no argument {name!r}{hint}")
        if missing := [name for name in self.in_path if name not in named]:
            raise TypeError(f"{self}() needs the argument {missing[0]!r}")
        return ClientRequest(
            self.method,
            IN_PATH.sub(lambda found: quote(str(named[found[1]]), safe=""), self.path),
            {name: _text(named[name]) for name in self.query if named.get(name) is not None},
            {name.replace("_", "-"): str(named[name]) for name in self.headers if named.get(name) is not None},
            {name: named[name] for name in self.body if name in named} if self.body else None,
        )

    def __str__(self) -> str:
        return f"{self.group}.{self.name}"


@dataclass(frozen=True)
class ClientRequest:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, Any] | None
    timeout_s: float | None = None


def _plain(name: str) -> str:
    """`except_` is the argument `except`, which Python does not allow as a name."""
    return name.removesuffix("_") if iskeyword(name.removesuffix("_")) else name


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(str(each) for each in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
