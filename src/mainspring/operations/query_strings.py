"""Encrypt query strings of endpoints that were stored in plain text by an earlier version.

Migrations do not have the key, so each process does this when it starts. Meanwhile such an endpoint is called as
before, and all interfaces already show its URL with `?••••`.
"""

import msgspec
from msgspec.structs import replace

from mainspring.domain.access.sealing import query_place
from mainspring.domain.kinds.registry import decode_action
from mainspring.domain.run import HttpAction
from mainspring.domain.target import shown_url, split_query
from mainspring.operations.context import Desk
from mainspring.ports.sealing import SealedRow

BATCH = 100  # rows read and written at once: they are locked for some milliseconds


async def seal_query_strings(desk: Desk) -> int:
    """Encrypts query strings of all tenants that are still readable; returns how many.

    A row edited meanwhile stays unchanged: an edit encrypts too. Several processes may do this at once.
    """
    after: tuple[str, ...] = ()
    count = 0
    while rows := await desk.stores.sealed.readable_queries(after, BATCH):
        after = rows[-1].place
        work = [(row, {row.text: text}) for row in rows if (text := _sealed(desk, row))]
        if work:
            count += await desk.stores.sealed.reseal(work)
    return count


def _sealed(desk: Desk, row: SealedRow) -> str:
    """The action with its query string encrypted; "" if it has none."""
    action = decode_action(row.text)
    if not isinstance(action, HttpAction):
        return ""
    _, mark, query = split_query(action.url)
    if action.query or not mark:
        return ""
    sealed = desk.vault.seal(query, query_place(row.tenant_id, row.place[0]))
    return msgspec.json.encode(replace(action, url=shown_url(action.url), query=sealed)).decode()
