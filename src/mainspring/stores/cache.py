"""Endpoints as this process last wrote or read them, each with the revision it had then.

A revision grows with every write of an endpoint, by whomever. A value is only ever used where the row, just locked,
still has its revision: so the cache saves reading and decoding, and can never be stale.
"""

from collections.abc import Iterable, Mapping

from mainspring.domain.endpoint import Endpoint

SIZE = 20_000  # some 2 kB each


class EndpointCache:
    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._values: dict[str, tuple[int, Endpoint]] = {}

    def known(self, revisions: Mapping[str, int]) -> tuple[list[Endpoint], list[str]]:
        """The endpoints known at these revisions, and the ids of the others."""
        hits: list[Endpoint] = []
        misses: list[str] = []
        for endpoint_id, revision in revisions.items():
            kept = self._values.get(endpoint_id)
            if kept is not None and kept[0] == revision:
                hits.append(kept[1])
            else:
                misses.append(endpoint_id)
        return hits, misses

    def keep(self, revisions: Mapping[str, int], endpoints: Iterable[Endpoint], written: int) -> None:
        """Remember endpoints as they are `written` writes after the given revisions; the longest untouched goes."""
        values = self._values
        for endpoint in endpoints:
            values.pop(endpoint.id, None)
            if len(values) >= self._size:
                del values[next(iter(values))]
            values[endpoint.id] = (revisions[endpoint.id] + written, endpoint)
