"""Endpoints as this process last wrote or read them, each with the revision it had then.

A revision grows with every write of an endpoint, by whomever. A value is only ever used where the row still has its
revision, compared when it is locked or by the write itself: so the cache saves reading and decoding, and what is stale
is never acted on. Revisions are those of one server: after a failover the cache must be empty.
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

    def latest(self, ids: Iterable[str]) -> tuple[dict[str, int], list[Endpoint]]:
        """What is known of these endpoints, at which revisions; it may be old, so a write must compare them."""
        found = [kept for each in ids if (kept := self._values.get(each)) is not None]
        return {endpoint.id: revision for revision, endpoint in found}, [endpoint for _, endpoint in found]

    def keep(self, revisions: Mapping[str, int], endpoints: Iterable[Endpoint], written: int) -> None:
        """Remember endpoints as they are `written` writes after the given revisions; the longest untouched goes."""
        values = self._values
        for endpoint in endpoints:
            values.pop(endpoint.id, None)
            if len(values) >= self._size:
                del values[next(iter(values))]
            values[endpoint.id] = (revisions[endpoint.id] + written, endpoint)
