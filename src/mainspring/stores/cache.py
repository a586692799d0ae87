"""Endpoints as this process last wrote or read them, each with its revision at that time.

Every write of an endpoint raises its revision. A cached value is used only if the row still has that revision, compared
when the row is locked or by the write itself: the cache saves reading and decoding, and a stale value has no effect.
Revisions belong to one server: after a failover the cache must be empty.
"""

from collections.abc import Iterable, Mapping

from mainspring.domain.endpoint import Endpoint

SIZE = 20_000  # about 2 kB each


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

    def latest(self, ids: Iterable[str]) -> tuple[dict[str, int], list[Endpoint]]:
        """Cached endpoints and their revisions. They may be stale, so a write must compare the revisions."""
        found = [kept for each in ids if (kept := self._values.get(each)) is not None]
        return {endpoint.id: revision for revision, endpoint in found}, [endpoint for _, endpoint in found]

    def keep(self, revisions: Mapping[str, int], endpoints: Iterable[Endpoint], written: int) -> None:
        """Remember endpoints as they are `written` writes after the given revisions; drops the least recently used."""
        values = self._values
        for endpoint in endpoints:
            values.pop(endpoint.id, None)
            if len(values) >= self._size:
                del values[next(iter(values))]
            values[endpoint.id] = (revisions[endpoint.id] + written, endpoint)
