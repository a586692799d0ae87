"""Somebody else who is faster: what they do happens between an operation's reading and its writing."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from mainspring.operations.context import Desk

Meanwhile = Callable[[], Awaitable[object]]


class Interrupted:
    """A port at which somebody else is faster, so many times, just before one of its methods."""

    def __init__(self, port: object, method: str, meanwhile: Meanwhile, times: int = 1) -> None:
        self._port = port
        self._method = method
        self._meanwhile = meanwhile
        self._left = times

    def __getattr__(self, name: str) -> Any:  # stands for a port whose methods are of every type
        real = getattr(self._port, name)
        if name != self._method:
            return real

        async def late(*given: object) -> object:
            if self._left:
                self._left -= 1
                await self._meanwhile()
            return await real(*given)

        return late


def interrupted(desk: Desk, method: str, meanwhile: Meanwhile, port: str = "endpoints", times: int = 1) -> Desk:
    raced: Any = Interrupted(getattr(desk.stores, port), method, meanwhile, times)
    return replace(desk, stores=replace(desk.stores, **{port: raced}))
