"""Generated from the OpenAPI document: another tenant's ids are worth as much as random ones, wherever they are sent.

Every operation is used by every role and every kind of key of a tenant, as the server recognises them, with what the
tenant `default` has: in the path, the query, the body, the cursor and the headers. The answer is compared with the
answer to the same request with random ids, and nothing of the tenant `default` may have changed.
"""

import copy
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient, Response

from mainspring.domain.access.scope import Role, Scope
from mainspring.domain.endpoint import Tenant
from mainspring.ports.stores import Stores
from tests.api.acting import Json, fingerprint, make
from tests.api.every import BODIES, NAMED_OTHERWISE, QUERIES, RANDOM, Operation, every_operation
from tests.api.people import Browser, a_key, a_user, open_door, program
from tests.api.test_every_operation import ids, told
from tests.api.worst import body_schema, resolved
from tests.stores.world import FixedClock

__all__ = ["ids"]

# What a field or a parameter names; others are tried with an endpoint's id.
KINDS = {
    "to": ("execution",),
    "job": ("job",),
    "workflow": ("workflow",),
    "execution": ("execution",),
    "tenant": ("tenant",),
    "id": ("tenant", "execution"),
    "key": ("key",),
    "email": ("user",),
}
DEPTH_MAX = 4
NOWHERE = "qqqqqqq"  # near to no tenant, so that none is suggested
ENDS_A_SESSION = {"log_out", "change_password", "end_other_sessions", "end_login_session"}
CREDENTIALS = {"log_in", "set_up", "read_link", "accept_invitation", "confirm_second_factor", "disable_second_factor"}


class Caller:
    def __init__(self, name: str, client: AsyncClient, *, is_person: bool, has_all_scopes: bool = False) -> None:
        self.name, self.client, self.is_person, self.has_all_scopes = name, client, is_person, has_all_scopes


@pytest.fixture
async def door(stores: Stores, clock: FixedClock, ids: dict[str, str]) -> AsyncIterator[FastAPI]:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    async with open_door(stores, clock) as made:
        yield made


@pytest.fixture
async def callers(door: FastAPI, stores: Stores) -> AsyncIterator[list[Caller]]:
    """People of each role and keys of each scope, all of the tenant `other`."""
    found = []
    async with AsyncExitStack() as stack:
        for scopes in [*[(scope,) for scope in Scope], tuple(Scope)]:
            key = await a_key(stores, *scopes, tenant_id="other")
            client = await stack.enter_async_context(program(door, key))
            has_all = len(scopes) == len(Scope)
            found.append(Caller(f"a key with {' '.join(scopes)}", client, is_person=False, has_all_scopes=has_all))
        for role in Role:
            email = f"{role}@other.example"
            await a_user(stores, email, role, tenant_id="other")
            browser = await stack.enter_async_context(Browser(door))
            assert (await browser.log_in(email)).status_code == 200
            found.append(Caller(f"a {role}", browser, is_person=True))
        yield found


async def ask(
    client: AsyncClient,
    operation: Operation,
    named: dict[str, str],
    query: str = "",
    body: Json | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    names = NAMED_OTHERWISE.get(operation.id, {})
    path = operation.path.format(**{name: named.get(names.get(name, name), "none") for name in operation.in_path})
    query = query or QUERIES.get(operation.id, "").format(**named)
    if "dry_run" in operation.in_query:  # it answers as the act itself would, and the next caller finds the same
        query = f"{query}&dry_run=true" if query else "?dry_run=true"
    body = BODIES.get(operation.id) if body is None else body
    return await client.request(operation.method.upper(), path + query, json=body, headers=headers)


def said(answer: Response, named: dict[str, str]) -> tuple[int, str]:
    """Status and text; what succeeds may tell times and new ids, which differ each time."""
    names = {f"{name} {each}": each for name, value in named.items() for each in (value, value.upper())}
    status, text = told(answer, names)
    return status, text if status >= 400 else ""


def tried(door: FastAPI) -> list[Operation]:
    return [each for each in every_operation(door) if each.id not in ENDS_A_SESSION | CREDENTIALS]


async def test_ids_in_a_path_are_unknown_to_every_role_and_key(
    door: FastAPI, callers: list[Caller], store_url: str, ids: dict[str, str]
) -> None:
    before = await fingerprint(store_url, "default")
    wrong, asked = [], 0
    for caller in callers:
        for operation in (each for each in tried(door) if each.in_path):
            theirs = await ask(caller.client, operation, ids)
            nobodys = await ask(caller.client, operation, RANDOM)
            asked += 1
            is_named = ids.keys() & set(operation.in_path)
            if said(theirs, ids) != said(nobodys, RANDOM) or (is_named and theirs.status_code not in (403, 404)):
                wrong.append((caller.name, operation.id, theirs.status_code, nobodys.status_code))

    assert asked > 500
    assert wrong == []
    assert await fingerprint(store_url, "default") == before


async def test_ids_in_a_query_are_unknown_to_every_role_and_key(
    door: FastAPI, callers: list[Caller], store_url: str, ids: dict[str, str]
) -> None:
    before = await fingerprint(store_url, "default")
    wrong, asked = [], 0
    for caller in callers:
        for operation in tried(door):
            for name in texts_in_query(operation):
                for kind in KINDS.get(name, ("endpoint",)):
                    both = [
                        said(await ask(caller.client, operation, RANDOM, f"?{name}={each[kind]}"), each)
                        for each in (ids, RANDOM)
                    ]
                    asked += 1
                    if both[0] != both[1]:
                        wrong.append((caller.name, operation.id, name, *both))

    assert asked > 100
    assert wrong == []
    assert await fingerprint(store_url, "default") == before


async def test_ids_in_any_field_of_a_body_are_unknown_to_every_role_and_key(
    door: FastAPI, callers: list[Caller], store_url: str, ids: dict[str, str], long_run: bool
) -> None:
    before = await fingerprint(store_url, "default")
    document = door.openapi()
    wrong, asked = [], 0
    random = {kind: alike(each, RANDOM[kind]) for kind, each in ids.items()}
    named = {f"{place} {kind}": each[kind] for place, each in enumerate((ids, random, RANDOM)) for kind in ids}
    for caller in callers if long_run else [each for each in callers if each.has_all_scopes]:
        for operation in tried(door):
            for place in texts_in_body(operation, document):
                name = [each for each in place if isinstance(each, str)][-1]
                for kind in RANDOM if long_run else KINDS.get(name, ("endpoint",)):
                    bodies = [filled(operation, place, each[kind]) for each in (ids, random)]
                    both = [said(await ask(caller.client, operation, RANDOM, "", each), named) for each in bodies]
                    asked += 1
                    if both[0] != both[1]:
                        wrong.append((caller.name, operation.id, place, *both))

    assert asked > 100
    assert wrong == []
    assert await fingerprint(store_url, "default") == before


async def test_cursors_are_refused_to_every_role_and_key(
    door: FastAPI, callers: list[Caller], api: AsyncClient, ids: dict[str, str]
) -> None:
    for number in range(3):
        await make(api, f"another {number}")
    listing = [each for each in tried(door) if "cursor" in each.in_query]
    cursors = {}
    for operation in listing:
        cursor = (await ask(api, operation, ids, "?limit=1")).json().get("next_cursor")
        if cursor is not None and not cursor.isdigit():  # a number of a tenant's own trail: there is nothing to open
            cursors[operation.id] = cursor
    wrong, asked = [], 0
    for caller in callers:
        for operation in (each for each in listing if not each.in_path):
            for origin, cursor in cursors.items():
                random = "r" * len(cursor)
                nobodys = said(await ask(caller.client, operation, RANDOM, f"?cursor={random}"), {"": random})
                theirs = said(await ask(caller.client, operation, RANDOM, f"?cursor={cursor}"), {"": cursor})
                asked += 1
                if theirs != nobodys:
                    wrong.append((caller.name, operation.id, origin, theirs, nobodys))

    assert {"list_endpoints", "list_events"} <= cursors.keys()
    assert asked > 100
    assert wrong == []


async def test_tenant_in_a_header_is_unknown_to_every_role_and_key(
    door: FastAPI, callers: list[Caller], store_url: str, ids: dict[str, str], long_run: bool
) -> None:
    before = await fingerprint(store_url, "default")
    wrong, asked = [], 0
    for caller in callers if long_run else [each for each in callers if each.is_person or each.has_all_scopes]:
        for operation in tried(door):
            theirs, nobodys = [
                await ask(caller.client, operation, RANDOM, headers={"X-Mainspring-Tenant": tenant})
                for tenant in ("default", NOWHERE)
            ]
            asked += 1
            if said(theirs, {"": "default"}) != said(nobodys, {"": NOWHERE}):
                wrong.append((caller.name, operation.id, theirs.status_code, nobodys.status_code))
            if any(each in theirs.text for each in secrets_of(ids)):
                wrong.append((caller.name, operation.id, theirs.status_code, 0))

    assert asked > 500
    assert wrong == []
    assert await fingerprint(store_url, "default") == before


async def test_idempotency_keys_and_etags_of_another_tenant_give_nothing(
    door: FastAPI, callers: list[Caller], api: AsyncClient, ids: dict[str, str]
) -> None:
    etag = (await api.get(f"/api/v1/endpoints/{ids['endpoint']}")).headers["etag"]
    operations = [each for each in tried(door) if {"Idempotency-Key", "If-Match"} & set(each.in_header)]
    for operation in operations:
        if "Idempotency-Key" in operation.in_header:
            await ask(api, operation, ids, headers={"Idempotency-Key": f"shared-{operation.id}"})
    wrong, asked = [], 0
    for caller in callers:
        for operation in operations:
            shared = {"Idempotency-Key": f"shared-{operation.id}", "If-Match": etag}
            random = {"Idempotency-Key": f"{caller.name}-{operation.id}".replace(" ", "-"), "If-Match": '"random"'}
            theirs, nobodys = [await ask(caller.client, operation, RANDOM, headers=each) for each in (shared, random)]
            asked += 1
            is_replayed = "idempotency-replayed" in theirs.headers and asked <= len(operations)
            if is_replayed or said(theirs, RANDOM) != said(nobodys, RANDOM):
                wrong.append((caller.name, operation.id, theirs.text[:200], nobodys.text[:200]))

    assert asked > 500
    assert wrong == []


def alike(real: str, otherwise: str) -> str:
    """A random id of the same form: what has the form of an id is refused as a name."""
    prefix, _, digits = real.partition("_")
    return f"{prefix}_{digits[:-8]}ffffffff" if re.fullmatch(r"[0-9a-f]{16,}", digits) else otherwise


def secrets_of(ids: dict[str, str]) -> list[str]:
    """Ids that nothing but another tenant's data can hold."""
    return [each for each in ids.values() if re.search(r"_[0-9a-f]{8}", each)]


def texts_in_query(operation: Operation) -> Iterator[str]:
    for each in operation.described.get("parameters", ()):
        kinds = [each.get("schema", {}), *each.get("schema", {}).get("anyOf", ())]
        texts = any(kind.get("type") in ("string", "array") and not {"enum", "format"} & kind.keys() for kind in kinds)
        if each["in"] == "query" and texts and each["name"] != "cursor":
            yield str(each["name"])


def texts_in_body(operation: Operation, document: Json) -> Iterator[tuple[str | int, ...]]:
    """Where texts stand in a body, at any depth: `("events", 0, "to")`."""
    schema = body_schema(operation, document)
    if schema is not None:
        yield from texts_in(schema, document, ())


def texts_in(schema: Json, document: Json, place: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    for kind in schema.get("anyOf", [schema]):
        found = resolved(kind, document)
        if len(place) > DEPTH_MAX or "enum" in found or "const" in found:
            continue
        if found.get("type") == "string" and place and "format" not in found:
            yield place
        elif found.get("type") == "array":
            yield from texts_in(found.get("items", {}), document, (*place, 0))
        elif found.get("type") == "object":
            for name, field in found.get("properties", {}).items():
                yield from texts_in(field, document, (*place, name))


def filled(operation: Operation, place: tuple[str | int, ...], value: str) -> Json:
    """The accepted body with a value at a place; lists on the way have one item."""
    body: Json = copy.deepcopy(dict(BODIES.get(operation.id, {})))
    holder: object = body
    for at, after in zip(place, (*place[1:], None), strict=True):
        fresh: object = value if after is None else [] if isinstance(after, int) else {}
        if isinstance(holder, list):
            if not holder or after is None:
                holder[:] = [fresh]
            holder = holder[0]
        else:
            assert isinstance(holder, dict)
            if after is None or not isinstance(holder.get(str(at)), type(fresh)):
                holder[str(at)] = fresh
            holder = holder[str(at)]
    return body
