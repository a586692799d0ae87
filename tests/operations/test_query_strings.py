"""The query string of an endpoint's URL: sealed, hidden, sent to the origin that it was given for and to no other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ipaddress import ip_network

import msgspec
import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.documents.texts import apply
from tests.harness.config import a_config, edited
from tests.stores.databases import query

from mainspring.documents.export import export_documents
from mainspring.documents.faults import InvalidDocument
from mainspring.domain.access.sealing import query_place, query_secrets
from mainspring.domain.endpoint import Endpoint, EndpointConfig, Tenant
from mainspring.domain.errors import InvalidInput
from mainspring.domain.run import HttpAction, Request, RunStatus
from mainspring.observe import Metrics
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint, draft_endpoint, edit_endpoint, find_endpoint
from mainspring.operations.query_strings import seal_query_strings
from mainspring.operations.secret_rotation import seal_again
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.filters import EndpointListFilter
from mainspring.settings import Settings
from mainspring.wiring.workers import open_notification_workers

BASE = "https://api.example.com/jobs"
CANARY = "canary-Zq81"
ADDRESS = f"{BASE}?token={CANARY}&page=2"
HIDDEN = f"{BASE}?••••"
ELSEWHERE = ["https://evil.example.com/jobs", "http://api.example.com/jobs", "https://api.example.com:8443/jobs"]
DOCUMENT = "endpoints: {billing: {url: '%s', every: 1m}}"
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def a_definition(url: str = ADDRESS, name: str = "billing") -> EndpointConfig:
    return a_config(name=name, url=url, interval_ms=60_000)


@pytest.fixture
async def billing(desk: Desk) -> Endpoint:
    return await add_endpoint(desk, a_definition())


def opened(desk: Desk, endpoint: Endpoint) -> str:
    """What is called: the URL with its query string."""
    if not http_of(endpoint).query:
        return http_of(endpoint).url
    query_string = desk.vault.open(http_of(endpoint).query, query_place(endpoint.tenant_id, endpoint.id))
    return f"{http_of(endpoint).url.partition('?')[0]}?{query_string}"


async def test_query_string_is_sealed_and_shown_nowhere(desk: Desk, billing: Endpoint, store_url: str) -> None:
    found = await find_endpoint(desk, "billing")
    rows = await query(store_url, "SELECT * FROM endpoint")
    events = await query(store_url, "SELECT * FROM event")

    assert (http_of(found).url, opened(desk, found)) == (HIDDEN, ADDRESS)
    assert CANARY not in repr((rows, events))


async def test_search_by_text_does_not_find_what_is_hidden(desk: Desk, billing: Endpoint) -> None:
    async def found_by(text: str) -> int:
        return len(await desk.stores.look.endpoints(desk.tenant_id, EndpointListFilter(None, None, text, None, 10)))

    assert [await found_by(text) for text in ("api.example.com", "token", CANARY, CANARY[:3])] == [1, 0, 0, 0]


@pytest.mark.parametrize(
    "url", [HIDDEN, f"{BASE}/other?••••", "https://API.example.com:443/jobs?••••"], ids=["same", "path", "spelling"]
)
async def test_hidden_form_keeps_the_stored_query_string(desk: Desk, billing: Endpoint, url: str) -> None:
    change = await edit_endpoint(desk, "billing", lambda old: edited(old, url=url, description="changed"))

    assert http_of(change.endpoint).query == http_of(billing).query
    assert opened(desk, change.endpoint).endswith(f"?token={CANARY}&page=2")


async def test_edit_of_another_field_changes_no_address(desk: Desk, billing: Endpoint) -> None:
    change = await edit_endpoint(desk, "billing", lambda old: replace(old, description="changed"))

    assert change.endpoint.action == billing.action


async def test_new_query_string_takes_the_place_of_the_old_one_and_none_removes_it(
    desk: Desk, billing: Endpoint
) -> None:
    other = await edit_endpoint(desk, "billing", lambda old: edited(old, url=f"{BASE}?token=other"))
    bare = await edit_endpoint(desk, "billing", lambda old: edited(old, url=BASE))

    assert opened(desk, other.endpoint) == f"{BASE}?token=other"
    assert (http_of(bare.endpoint).url, http_of(bare.endpoint).query) == (BASE, "")


async def test_same_query_string_again_changes_nothing(desk: Desk, billing: Endpoint) -> None:
    change = await edit_endpoint(desk, "billing", lambda old: edited(old, url=ADDRESS))

    assert change.endpoint == billing


@pytest.mark.parametrize("url", ELSEWHERE, ids=["host", "scheme", "port"])
async def test_another_origin_needs_the_query_string_again(desk: Desk, billing: Endpoint, url: str) -> None:
    desk = replace(desk, allow_ports=frozenset({8443}))
    with pytest.raises(InvalidInput, match=r"was given for https://api\.example\.com:443; give the query") as refused:
        await edit_endpoint(desk, "billing", lambda old: edited(old, url=f"{url}?••••"))
    moved = await edit_endpoint(desk, "billing", lambda old: edited(old, url=f"{url}?token=fresh"))

    assert refused.value.field == "url"
    assert opened(desk, moved.endpoint) == f"{url}?token=fresh"


@pytest.mark.parametrize("url", ELSEWHERE, ids=["host", "scheme", "port"])
@pytest.mark.parametrize("hidden", ["••••", "${stored}"])
async def test_document_cannot_move_the_stored_query_string(
    desk: Desk, billing: Endpoint, url: str, hidden: str
) -> None:
    desk = replace(desk, allow_ports=frozenset({8443}))
    with pytest.raises(InvalidDocument, match=r"was given for https://api\.example\.com:443"):
        await apply(desk, DOCUMENT % f"{url}?{hidden}")

    assert (await find_endpoint(desk, "billing")).action == billing.action


@pytest.mark.parametrize("url", [HIDDEN, f"{BASE}?a=••••", f"{BASE}?a=1?••••", f"{BASE}/••••"])
async def test_new_endpoint_takes_no_hidden_form(desk: Desk, url: str) -> None:
    """A copy has no query string to keep: the message says that it must be given again."""
    with pytest.raises(InvalidInput, match="give the full URL") as refused:
        await add_endpoint(desk, a_definition(url))
    assert refused.value.field == "url"


async def test_address_that_is_never_called_is_refused_without_its_query_string(desk: Desk) -> None:
    strict = replace(desk, never_called=lambda host: "it is a metadata address")
    with pytest.raises(InvalidInput, match="is never called") as refused:
        await add_endpoint(strict, a_definition())

    assert CANARY not in f"{refused.value} {refused.value.value}"


async def test_export_and_apply_keep_the_query_string(desk: Desk, billing: Endpoint) -> None:
    (exported,) = await export_documents(desk)
    again = await apply(desk, msgspec.json.encode(exported).decode())

    assert exported["endpoints"] == {"billing": {"url": f"{BASE}?${{stored}}", "every": "1m"}}
    assert again.steps == ()
    assert (await find_endpoint(desk, "billing")).action == billing.action


async def test_document_takes_the_query_string_from_a_reference(desk: Desk) -> None:
    text = DOCUMENT % f"{BASE}?token=${{env:KEY}}"
    first = await apply(desk, text, environment={"KEY": CANARY})
    same = await apply(desk, text, environment={"KEY": CANARY})
    other = await apply(desk, text, environment={"KEY": "other"})

    assert CANARY not in repr(first)
    assert same.steps == ()
    assert [(field.field, field.before, field.after) for step in other.steps for field in step.fields] == [
        ("url", HIDDEN, f"{HIDDEN} (another query string)")
    ]
    assert opened(desk, await find_endpoint(desk, "billing")) == f"{BASE}?token=other"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://${env:KEY}.example.com/", "put the reference after it"),
        (f"{BASE}?a=${{env:MISSING}}", "MISSING is not set"),
        (f"{BASE}?${{stored}}", "none is stored"),
        (f"{BASE}?a=${{stored}}", "replaces a whole value"),
        ("https://example.com:99999/?token=${env:KEY}", "a port is a number"),
    ],
)
async def test_document_with_a_query_string_that_cannot_be_is_refused(desk: Desk, url: str, why: str) -> None:
    with pytest.raises(InvalidDocument, match=why) as refused:
        await apply(desk, DOCUMENT % url, environment={"KEY": CANARY})
    assert CANARY not in refused.value.in_full()


async def as_before_the_seal(desk: Desk, name: str, store_url: str, address: str = ADDRESS) -> None:
    made = await add_endpoint(desk, a_definition(BASE, name))
    action = msgspec.json.encode(replace(made.action, url=address)).decode().replace("'", "''")
    await query(store_url, f"UPDATE endpoint SET action = '{action}' WHERE id = '{made.id}'")


async def test_query_strings_from_before_the_seal_are_sealed_for_every_tenant(desk: Desk, store_url: str) -> None:
    other = replace(desk, tenant_id="other")
    await desk.stores.endpoints.put_tenant(Tenant("other", "other"))
    for each in (desk, other):
        await as_before_the_seal(each, "token", store_url)
        await as_before_the_seal(each, "bare", store_url, BASE)
        await add_endpoint(each, edited(a_definition(BASE, "asking"), method="POST", body="why?"))

    assert await seal_query_strings(desk) == 2
    assert await seal_query_strings(desk) == 0
    for each in (desk, other):
        found = await find_endpoint(each, "token")
        assert (http_of(found).url, opened(each, found)) == (HIDDEN, ADDRESS)
    assert CANARY not in repr(await query(store_url, "SELECT action FROM endpoint"))


async def test_workers_seal_them_when_they_start(desk: Desk, store_url: str) -> None:
    await as_before_the_seal(desk, "token", store_url)
    async with open_notification_workers(Settings(), desk, Metrics()):
        found = await find_endpoint(desk, "token")

    assert opened(desk, found) == ADDRESS
    assert http_of(found).query


async def test_endpoint_that_is_edited_meanwhile_is_left_to_the_editor(desk: Desk, store_url: str) -> None:
    await as_before_the_seal(desk, "token", store_url)

    class Editing:
        """Between reading and writing, an edit is made."""

        def __getattr__(self, name: str) -> object:
            return getattr(desk.stores.sealed, name)

        async def readable_queries(self, after: tuple[str, ...], limit: int) -> object:
            read = await desk.stores.sealed.readable_queries(after, limit)
            if read:
                await edit_endpoint(desk, "token", lambda old: edited(old, url=f"{BASE}?new=one"))
            return read

    raced = replace(desk, stores=replace(desk.stores, sealed=Editing()))

    assert await seal_query_strings(raced) == 0
    assert opened(desk, await find_endpoint(desk, "token")) == f"{BASE}?new=one"


@pytest.mark.parametrize("url", [ADDRESS, HIDDEN], ids=["in full", "hidden"])
async def test_any_edit_seals_a_readable_query_string(desk: Desk, store_url: str, url: str) -> None:
    await as_before_the_seal(desk, "token", store_url)
    change = await edit_endpoint(desk, "token", lambda old: edited(old, url=url, description="changed"))

    assert (http_of(change.endpoint).url, opened(desk, change.endpoint)) == (HIDDEN, ADDRESS)


async def test_new_key_seals_the_query_string_again(desk: Desk, billing: Endpoint) -> None:
    both = AesVault(KeyRing(b"n" * 32, (bytes(32),)))
    resealed = await seal_again(replace(desk, vault=both))
    found = await find_endpoint(desk, "billing")

    assert (resealed.values, resealed.left, resealed.unreadable) == (1, 0, 0)
    assert http_of(found).query != http_of(billing).query
    assert opened(replace(desk, vault=AesVault(KeyRing(b"n" * 32))), found) == ADDRESS


async def test_query_string_that_no_key_opens_can_be_given_again(desk: Desk, billing: Endpoint) -> None:
    lost = replace(desk, vault=AesVault(KeyRing(b"n" * 32)))
    change = await edit_endpoint(lost, "billing", lambda old: edited(old, url=ADDRESS))

    assert opened(lost, change.endpoint) == ADDRESS


@asynccontextmanager
async def an_echo(answer: bytes = b"") -> AsyncIterator[tuple[str, list[bytes]]]:
    """A target that answers with what it was sent, or with a fixed answer; and all heads that it was sent."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer or b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + heads[-1])
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", heads


def a_caller(desk: Desk) -> HttpCaller:
    return HttpCaller(AddressGuard((ip_network("127.0.0.0/8"),)), desk.vault, clock=lambda: NOW)


def a_request(endpoint: Endpoint, action: HttpAction | None = None) -> Request:
    return Request(endpoint.tenant_id, endpoint.id, "msg_1", NOW, 1, action or endpoint.action)


async def test_call_carries_the_query_string_and_nothing_of_it_is_kept(desk: Desk) -> None:
    caller = a_caller(desk)
    async with an_echo() as (url, heads):
        endpoint = await draft_endpoint(desk, a_definition(f"{url}run?token={CANARY}%2Fx&status=pending"))
        outcome = await caller.call(a_request(endpoint))
        again = await caller.call(a_request(endpoint))
    await caller.aclose()

    assert heads[0].startswith(f"GET /run?token={CANARY}%2Fx&status=pending HTTP/1.1".encode())
    assert heads[1].split(b"\r\n")[0] == heads[0].split(b"\r\n")[0]
    assert outcome.status is again.status is RunStatus.SUCCESS
    assert outcome.body is not None
    assert b"GET /run?[redacted] HTTP/1.1" in outcome.body.data
    assert CANARY.encode() not in outcome.body.data


async def test_query_string_does_not_open_for_another_endpoint(desk: Desk) -> None:
    caller = a_caller(desk)
    async with an_echo() as (url, heads):
        endpoint = await draft_endpoint(desk, a_definition(f"{url}?token={CANARY}"))
        await caller.call(a_request(endpoint))
        stolen = await caller.call(replace(a_request(endpoint), endpoint_id="ep_other"))
    await caller.aclose()

    assert (stolen.status, stolen.error_code, len(heads)) == (RunStatus.BLOCKED, "secret", 1)
    assert CANARY not in str(stolen.error)


async def test_target_of_a_redirect_is_kept_without_its_query_string(desk: Desk) -> None:
    caller = a_caller(desk)
    away = b"HTTP/1.1 302 Found\r\nLocation: https://x.example/in?code=abc123\r\nContent-Length: 0\r\n\r\n"
    async with an_echo(away) as (url, _):
        outcome = await caller.call(a_request(await draft_endpoint(desk, a_definition(url))))
    await caller.aclose()

    assert ("location", "https://x.example/in?••••") in [(name.lower(), value) for name, value in outcome.headers]


@pytest.mark.parametrize(
    ("query_string", "removed", "kept"),
    [
        ("token=abc", ["token=abc", "abc"], []),
        ("status=pending&page=2", [], ["pending", "2"]),
        ("since=2026-11-17T00:00:00Z", [], ["2026-11-17T00:00:00Z"]),
        ("id=4bf92f3577b34da6a3ce929d0e0e4736", ["4bf92f3577b34da6a3ce929d0e0e4736"], []),
        ("X-Amz-Signature=a%2Fb", ["a%2Fb", "a/b"], []),
        ("4bf92f3577b34da6a3ce929d0e0e4736", ["4bf92f3577b34da6a3ce929d0e0e4736"], []),
    ],
)
def test_values_that_may_be_tokens_are_removed_and_words_stay(
    query_string: str, removed: list[str], kept: list[str]
) -> None:
    found = query_secrets(query_string)

    assert query_string in found
    assert set(removed) <= set(found)
    assert not set(kept) & set(found)
