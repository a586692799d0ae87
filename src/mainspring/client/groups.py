"""The methods of a client, one per row of the table; `groups.pyi` has their types.

Methods are looked up by name when used. `iterate` beside a `list` yields the items of all pages.
"""

from functools import partial

from mainspring.client.exchange import exchange, run_and_wait
from mainspring.client.table import OPERATIONS

METHODS = {(operation.group, operation.name): operation for operation in OPERATIONS}
GROUPS = {operation.group for operation in OPERATIONS}
PAGED = {
    (operation.group, operation.name.replace("list", "iterate", 1)): operation
    for operation in OPERATIONS
    if operation.is_paged
}


class Groups:
    def __getattr__(self, name):
        if name not in GROUPS:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(sorted(GROUPS))}")
        return Group(self, name)

    def __dir__(self):
        return [*super().__dir__(), *GROUPS]


class AsyncGroups(Groups):
    pass


class Group:
    def __init__(self, client, name):
        self._client = client
        self._name = name

    def __getattr__(self, name):
        key = (self._name, name)
        if key in PAGED:
            return lambda *places, **named: self._client.iterate(PAGED[key], places, named)
        if key not in METHODS:
            raise AttributeError(f"client.{self._name} has no {name!r}; it has {', '.join(self.__dir__())}")
        operation = METHODS[key]
        if operation.answer == "stream":
            return lambda *places, **named: self._client.listen(operation, places, named)
        return partial(_call, self._client, operation)

    def __dir__(self):
        return [name for group, name in (*METHODS, *PAGED) if group == self._name]


def _call(client, operation, /, *places, **named):
    """Performs an operation; returns the response, or an awaitable for the async client."""
    if operation.id == "run_endpoint" and named.get("wait") is True:
        request = operation.request(places, named | {"wait": None})
        return client.perform(run_and_wait(operation, METHODS["runs", "list"], request, client.tries))
    if named.get("wait") is False:
        named = named | {"wait": None}
    return client.perform(exchange(operation, operation.request(places, named), client.tries))
