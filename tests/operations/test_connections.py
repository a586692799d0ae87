"""Connections at the desk of a tenant: what is refused, what moves with them, what nobody reads."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.harness.config import a_config, edited
from tests.peers.authority import Authority
from tests.stores.databases import query
from tests.stores.world import START

from mainspring.domain.connection import (
    MASK,
    Auth,
    Connection,
    ConnectionConfig,
    StoredToken,
    connection_secrets,
    with_fields,
)
from mainspring.domain.endpoint import Endpoint, EndpointConfig, Tenant
from mainspring.domain.errors import Conflict, InvalidInput, NotFound, QuotaExceeded
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import Header, Outcome, Request, RunStatus
from mainspring.operations.connections import (
    add_connection,
    connection_users,
    delete_connection,
    dry_run_of,
    edit_connection,
    find_connection,
    rebase_act,
)
from mainspring.operations.connections import (
    test_connection as call_connection,
)
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint, archive_endpoint, edit_endpoint, find_endpoint
from mainspring.operations.secret_rotation import count_sealed, seal_again
from mainspring.outbound.certificates import check_certificates
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.documents import ChangedMeanwhile

BASE = "https://billing.example.com/v1"
HEADER = ConnectionConfig(BASE, auth=Auth.HEADER, header="X-Api-Key", secret="canary-Zq81")


def calls(path: str = "/health", **fields: Any) -> EndpointConfig:
    return a_config("health", path, interval_ms=60_000, connection="billing", **fields)


def changed(**fields: object) -> Callable[[ConnectionConfig], ConnectionConfig]:
    return lambda config: with_fields(config, fields)


async def test_path_of_an_endpoint_is_relative_to_the_base_url(desk: Desk) -> None:
    await add_connection(desk, "billing", HEADER)
    made = [
        http_of(await add_endpoint(desk, edited(calls(path), name=f"e{number}"))).url
        for number, path in enumerate(("/health", "health", "//evil.example.com/x", "?a=1", f"{BASE}/full", "/"))
    ]

    assert made == [
        f"{BASE}/health", f"{BASE}/health", f"{BASE}/evil.example.com/x", f"{BASE}?••••", f"{BASE}/full", f"{BASE}/",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "url",
    ["https://evil.example.com/", "http://billing.example.com/v1", "https://billing.example.com:8443/v1",
     "https://billing.example.com.evil.test/v1"],
)  # fmt: skip
async def test_url_at_another_origin_is_refused(url: str, desk: Desk) -> None:
    await add_connection(desk, "billing", HEADER)

    with pytest.raises(InvalidInput, match="where the connection 'billing' sends its credentials"):
        await add_endpoint(desk, calls(url))


async def test_endpoint_cannot_be_moved_to_another_origin_later(desk: Desk) -> None:
    await add_connection(desk, "billing", HEADER)
    await add_endpoint(desk, calls())

    with pytest.raises(InvalidInput, match="give a path, a URL at that origin, or another connection"):
        await edit_endpoint(desk, "health", lambda old: edited(old, url="https://evil.example.com/"))


async def test_unknown_connection_is_refused_with_the_nearest_name(desk: Desk) -> None:
    await add_connection(desk, "billing", HEADER)

    with pytest.raises(InvalidInput) as refused:
        await add_endpoint(desk, edited(calls(), connection="biling"))
    assert str(refused.value) == (
        "connection 'biling' does not exist, did you mean 'billing'?; create it, or choose another"
    )


async def test_own_header_that_contradicts_the_connection_is_refused(desk: Desk) -> None:
    await add_connection(desk, "billing", HEADER)

    with pytest.raises(InvalidInput, match="header 'X-Api-Key' is sent by the connection"):
        await add_endpoint(desk, calls(headers=(Header("x-api-key", "mine", secret=True),)))


async def test_secret_is_in_no_row_and_no_event(desk: Desk, store_url: str) -> None:
    made = await add_connection(desk, "billing", HEADER)
    await edit_connection(desk, "billing", changed(secret="canary-other"))
    rows = [await query(store_url, f"SELECT * FROM {table}") for table in ("connection", "event", "audit_entry")]

    assert made.config.secret.startswith("v1.")
    assert "canary" not in repr(rows)


async def test_edits_are_audited_with_the_names_of_fields_alone(desk: Desk) -> None:
    made = await add_connection(desk, "billing", HEADER)
    await edit_connection(desk, "billing", changed(secret="canary-other", description="for invoices"))
    await delete_connection(desk, made.id)
    entries = (await desk.stores.audit.audit_entries(desk.tenant_id, None, 10))[::-1]

    assert [(entry.act, entry.subject) for entry in entries] == [
        (EventType.CONNECTION_CREATED, made.id),
        (EventType.CONNECTION_UPDATED, made.id),
        (EventType.CONNECTION_DELETED, made.id),
    ]
    assert '"fields":["description","secret"]' in entries[1].detail


async def test_deleting_a_connection_in_use_lists_its_users(desk: Desk) -> None:
    await add_connection(desk, "billing", HEADER)
    await add_endpoint(desk, calls())

    with pytest.raises(Conflict) as refused:
        await delete_connection(desk, "billing")
    assert str(refused.value) == (
        "connection 'billing' is used by endpoint 'health'; a connection in use cannot be deleted: change or delete "
        "its users first"
    )
    await archive_endpoint(desk, "health")
    await delete_connection(desk, "billing")
    assert await desk.stores.connections.connections(desk.tenant_id) == []


async def test_store_refuses_to_delete_a_connection_that_got_a_user_meanwhile(desk: Desk) -> None:
    made = await add_connection(desk, "billing", HEADER)
    await add_endpoint(desk, calls())
    event = (await desk.stores.runs.latest_events(desk.tenant_id, 1))[0].event

    with pytest.raises(Conflict, match="is used by endpoint 'health'"):
        await desk.stores.connections.delete_connection(desk.tenant_id, made.id, event)


async def test_another_tenant_finds_counts_and_uses_nothing(desk: Desk) -> None:
    other = replace(desk, tenant_id="other")
    await desk.stores.endpoints.put_tenant(Tenant("other", "other"))
    made = await add_connection(desk, "billing", HEADER)
    await add_endpoint(desk, calls())

    for name in ("billing", made.id):
        with pytest.raises(NotFound):
            await find_connection(other, name)
        with pytest.raises(NotFound):
            await edit_connection(other, name, changed(secret="mine"))
        with pytest.raises(NotFound):
            await delete_connection(other, name)
    with pytest.raises(InvalidInput, match="does not exist"):
        await add_endpoint(other, calls())
    assert await other.stores.connections.connections("other") == []
    assert await other.stores.connections.users("other", "billing") == []
    assert not await other.stores.connections.put_connection(
        replace(made, tenant_id="other", version=2), (await desk.stores.runs.latest_events(desk.tenant_id, 1))[0].event
    )
    assert await add_connection(other, "billing", HEADER) != made
    await desk.stores.connections.put_token(StoredToken(made.id, desk.tenant_id, 1, "sealed", made.created_at))
    assert await desk.stores.connections.token("other", made.id) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"base_url": "https://evil.example.com/"}, "for auth header at https://evil.example.com:443"),
        ({"base_url": "http://billing.example.com/v1"}, "for auth header at http://billing.example.com:80"),
        (
            {"auth": "oauth2", "token_url": "https://evil.example.com/t", "client_id": "a", "header": None},
            "secret would be used for the token_url at https://evil.example.com:443",
        ),
    ],
)
async def test_stored_secret_stays_with_the_origin_it_was_given_for(
    fields: dict[str, object], message: str, desk: Desk
) -> None:
    await add_connection(desk, "billing", HEADER)

    with pytest.raises(InvalidInput, match=message):
        await edit_connection(desk, "billing", changed(**fields))
    with pytest.raises(InvalidInput, match=message):
        await edit_connection(desk, "billing", changed(**fields, secret=MASK))
    edited = await edit_connection(desk, "billing", changed(**fields, secret="given again"))
    assert edited.version == 2


async def test_endpoints_move_with_the_base_url_in_one_transaction(desk: Desk) -> None:
    await add_connection(desk, "billing", ConnectionConfig(BASE))
    await add_endpoint(desk, calls("/health"))
    await add_endpoint(desk, edited(calls("https://billing.example.com/other"), name="other"))
    await edit_connection(desk, "billing", changed(base_url="https://new.example.com:8443/v2/"))
    moved = [await find_endpoint(desk, name) for name in ("health", "other")]

    assert [(http_of(each).url, each.host) for each in moved] == [
        ("https://new.example.com:8443/v2/health", "new.example.com:8443"),
        ("https://new.example.com:8443/other", "new.example.com:8443"),
    ]


async def test_base_url_does_not_move_away_from_an_endpoints_own_secrets(desk: Desk) -> None:
    await add_connection(desk, "billing", ConnectionConfig(BASE))
    await add_endpoint(desk, calls("/health?token=1"))

    with pytest.raises(InvalidInput, match="endpoint 'health' has its own secret headers or query string"):
        await edit_connection(desk, "billing", changed(base_url="https://new.example.com/"))
    await edit_connection(desk, "billing", changed(base_url="https://billing.example.com/v2"))
    assert http_of(await find_endpoint(desk, "health")).url == "https://billing.example.com/v2/health?••••"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (ConnectionConfig("ftp://example.com"), "is not http or https"),
        (ConnectionConfig("https://example.com/?a=1"), "base_url has a query string"),
        (ConnectionConfig(BASE, auth=Auth.HEADER, header="X-Key"), "auth header needs secret"),
        (ConnectionConfig(BASE, auth=Auth.HEADER, secret="x"), "auth header needs header"),
        (ConnectionConfig(BASE, auth=Auth.HEADER, header="Host", secret="x"), "header 'Host' frames the message"),
        (ConnectionConfig(BASE, auth=Auth.HEADER, header="X-Key", secret="a\nb"), "line break"),
        (ConnectionConfig(BASE, auth=Auth.BASIC, username="a:b", secret="x"), "username contains a colon"),
        (ConnectionConfig(BASE, auth=Auth.DIGEST, username="a", secret="a\tb"), "control character"),
        (ConnectionConfig(BASE, auth=Auth.OAUTH2, client_id="a", secret="x"), "auth oauth2 needs token_url"),
        (
            ConnectionConfig(BASE, auth=Auth.AWS, access_key_id="a", region="a:b", service="s", secret="x"),
            "region contains something else than letters, digits, - and .",
        ),
        (
            ConnectionConfig(BASE, auth=Auth.AWS, access_key_id="a", region="a", service="é", secret="x"),
            "service contains something else than letters, digits, - and .",
        ),
        (ConnectionConfig(BASE, username="ann"), "username is for auth basic or digest, and auth is none"),
        (ConnectionConfig(BASE, ca="nonsense"), "ca has no PEM block CERTIFICATE"),
        (ConnectionConfig(BASE, client_key="-----BEGIN PRIVATE KEY-----"), "client_key is given without"),
        (ConnectionConfig(BASE, client_certificate="-----BEGIN CERTIFICATE-----"), "without client_key"),
        (ConnectionConfig("http://example.com/", ca="-----BEGIN CERTIFICATE-----"), "which has no TLS"),
        (ConnectionConfig(BASE, proxy="corp"), "proxy 'corp' is not one that the operator allows"),
        (ConnectionConfig(BASE, secret=MASK, auth=Auth.HEADER, header="X-Key"), "none is stored; give it"),
        (ConnectionConfig(BASE, tls_min="1.1"), "unknown tls_min '1.1'"),
    ],
)
async def test_nonsense_is_refused_with_the_way_out(config: ConnectionConfig, message: str, desk: Desk) -> None:
    with pytest.raises(InvalidInput, match=message):
        await add_connection(desk, "billing", config)


async def test_target_that_is_never_called_is_refused(desk: Desk) -> None:
    guarded = replace(desk, never_called=lambda host: "a metadata address" if host.startswith("169.254") else None)

    with pytest.raises(InvalidInput, match="is never called: a metadata address"):
        await add_connection(guarded, "billing", ConnectionConfig("http://169.254.169.254/"))


async def test_allowed_proxy_is_stored_by_name(desk: Desk) -> None:
    allowed = replace(desk, proxies=frozenset({"corp"}))
    made = await add_connection(allowed, "billing", ConnectionConfig(BASE, proxy="corp"))

    assert made.config.proxy == "corp"
    with pytest.raises(InvalidInput, match="did you mean 'corp'"):
        await edit_connection(allowed, "billing", changed(proxy="crop"))


async def test_certificates_are_read_before_they_are_stored(desk: Desk) -> None:
    reading = replace(desk, check_certificates=check_certificates)
    authority = Authority("private")
    certificate, key = authority.client("one")
    _, other_key = authority.client("two")
    good = ConnectionConfig(BASE, ca=authority.pem, client_certificate=certificate, client_key=key)

    with pytest.raises(InvalidInput, match="client_key does not belong to the first certificate"):
        await add_connection(reading, "billing", replace(good, client_key=other_key))
    with pytest.raises(InvalidInput, match="ca contains a certificate that cannot be read"):
        await add_connection(reading, "billing", replace(good, ca="-----BEGIN CERTIFICATE-----\nxx\n-----END"))
    bad = "-----BEGIN PRIVATE KEY-----\nxx\n-----END PRIVATE KEY-----"
    with pytest.raises(InvalidInput, match="client_key is not a private key"):
        await add_connection(reading, "billing", replace(good, client_key=bad))
    made = await add_connection(reading, "billing", good)
    assert made.config.client_key.startswith("v1.")
    with pytest.raises(InvalidInput, match="does not belong"):
        await edit_connection(reading, "billing", changed(client_certificate=authority.client("three")[0]))
    renewed, new_key = authority.client("four")
    await edit_connection(reading, "billing", changed(client_certificate=renewed, client_key=new_key))


async def test_other_kind_of_credentials_clears_the_fields_of_the_old_one(desk: Desk) -> None:
    await add_connection(desk, "billing", HEADER)
    made = await edit_connection(desk, "billing", changed(auth="basic", username="ann", secret="word"))

    assert (made.config.auth, made.config.header, made.config.username) == (Auth.BASIC, "", "ann")


async def test_edit_of_nothing_writes_nothing(desk: Desk) -> None:
    made = await add_connection(desk, "billing", HEADER)

    assert await edit_connection(desk, "billing", changed(secret="canary-Zq81")) == made
    assert await edit_connection(desk, "billing", changed(secret=MASK)) == made


async def test_edit_of_an_old_version_is_a_conflict(desk: Desk) -> None:
    made = await add_connection(desk, "billing", HEADER)
    event = (await desk.stores.runs.latest_events(desk.tenant_id, 1))[0].event
    newer = replace(made, version=2)

    assert await desk.stores.connections.put_connection(newer, event)
    assert not await desk.stores.connections.put_connection(newer, event)


async def test_every_edit_loses_to_a_concurrent_one(desk: Desk) -> None:
    made = await add_connection(desk, "billing", ConnectionConfig(BASE))
    event = (await desk.stores.runs.latest_events(desk.tenant_id, 1))[0].event

    class Rival:
        """The store, in which the connection changes after each read."""

        def __init__(self) -> None:
            self.put_connection, self.users = real.put_connection, real.users

        async def connection(self, tenant_id: str, name: str) -> Connection | None:
            found = await real.connection(tenant_id, name)
            assert found is not None
            await real.put_connection(replace(found, version=found.version + 1), event)
            return found

    real = desk.stores.connections
    racing = replace(desk, stores=replace(desk.stores, connections=Rival()))
    for fields in ({"description": "x"}, {"base_url": "https://new.example.com/"}):
        with pytest.raises(Conflict, match="was changed concurrently"):
            await edit_connection(racing, made.id, changed(**fields))


async def test_name_is_taken_once(desk: Desk) -> None:
    await add_connection(desk, "billing", HEADER)

    for there in (desk, dry_run_of(desk)):
        with pytest.raises(Conflict, match="another connection is named 'billing' already"):
            await add_connection(there, "billing", HEADER)


async def test_dry_run_checks_and_writes_nothing(desk: Desk) -> None:
    made = await add_connection(desk, "billing", ConnectionConfig(BASE))
    dry = dry_run_of(desk)
    await add_connection(dry, "other", HEADER)
    await edit_connection(dry, "billing", changed(description="x"))
    await edit_connection(dry, "billing", changed(base_url="https://new.example.com/"))
    await delete_connection(dry, "billing")
    await dry.stores.connections.put_token(StoredToken(made.id, desk.tenant_id, 1, "x", made.created_at))

    assert await desk.stores.connections.connections(desk.tenant_id) == [made]
    assert await desk.stores.connections.token(desk.tenant_id, made.id) is None
    assert await dry.stores.configuration.workflow_sources(desk.tenant_id) == {}


async def test_tenant_has_a_limited_number(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mainspring.operations.connections.CONNECTIONS_MAX", 1)
    await add_connection(desk, "billing", HEADER)

    with pytest.raises(QuotaExceeded, match="would have 2 connections"):
        await add_connection(desk, "other", HEADER)


async def test_rotation_seals_connections_and_tokens_again(desk: Desk) -> None:
    authority = Authority("private")
    certificate, key = authority.client("one")
    config = replace(HEADER, client_certificate=certificate, client_key=key)
    made = await add_connection(desk, "billing", config)
    context = f"{desk.tenant_id}|{made.id}|connection token"
    token = StoredToken(made.id, desk.tenant_id, 1, desk.vault.seal("token", context), made.created_at)
    await desk.stores.connections.put_token(token)
    rotated = replace(desk, vault=AesVault(KeyRing(b"n" * 32, (bytes(32),))))

    assert (await seal_again(rotated)).values == 3
    assert len(await count_sealed(desk.stores)) == 1
    after = await find_connection(desk, "billing")
    fresh = AesVault(KeyRing(b"n" * 32))
    assert fresh.open(after.config.secret, f"{desk.tenant_id}|{made.id}|connection:secret") == "canary-Zq81"
    assert fresh.open(after.config.client_key, f"{desk.tenant_id}|{made.id}|connection:client_key") == key.strip()
    stored = await desk.stores.connections.token(desk.tenant_id, made.id)
    assert stored is not None
    assert fresh.open(stored.sealed, context) == "token"
    assert after.version == made.version


async def test_secret_that_no_key_decrypts_can_be_given_again(desk: Desk) -> None:
    await add_connection(desk, "billing", HEADER)
    lost = replace(desk, vault=AesVault(KeyRing(b"x" * 32)))
    edited = await edit_connection(lost, "billing", changed(secret="canary-Zq81"))

    assert edited.version == 2


async def test_token_of_an_older_version_is_not_shared(desk: Desk) -> None:
    made = await add_connection(desk, "billing", HEADER)
    await edit_connection(desk, "billing", changed(description="newer"))
    await desk.stores.connections.put_token(StoredToken(made.id, desk.tenant_id, 1, "old", made.created_at))
    assert await desk.stores.connections.token(desk.tenant_id, made.id) is None

    newer = StoredToken(made.id, desk.tenant_id, 2, "new", made.created_at)
    await desk.stores.connections.put_token(newer)
    assert await desk.stores.connections.token(desk.tenant_id, made.id) == newer
    await delete_connection(desk, "billing")
    assert await desk.stores.connections.token(desk.tenant_id, made.id) is None


class Recorder:
    """A caller that answers, and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def call(self, request: Request) -> Outcome:
        self.asked.append(request)
        return Outcome(RunStatus.FAILURE, 12, 404, "http_status", "HTTP 404 Not Found; expected 2xx")

    async def aclose(self) -> None: ...


async def test_test_calls_the_base_url_or_a_path_and_is_audited(desk: Desk) -> None:
    made = await add_connection(desk, "billing", HEADER)
    caller = Recorder()
    urls = [(await call_connection(desk, caller, "billing", path))[0] for path in ("", "/health")]

    assert urls == [BASE, f"{BASE}/health"]
    assert [(http_of(asked).url, http_of(asked).connection, asked.wants_certificate) for asked in caller.asked] == [
        (BASE, "billing", True),
        (f"{BASE}/health", "billing", True),
    ]
    entries = (await desk.stores.audit.audit_entries(desk.tenant_id, None, 10))[::-1]
    assert [(entry.act, entry.subject) for entry in entries[1:]] == [(EventType.CONNECTION_TESTED, made.id)] * 2
    with pytest.raises(InvalidInput, match="sends its credentials"):
        await call_connection(desk, caller, "billing", "https://evil.example.com/")


async def test_users_are_listed(desk: Desk) -> None:
    made = await add_connection(desk, "billing", HEADER)
    endpoint: Endpoint = await add_endpoint(desk, calls(body='{"connection":"billing"}', method="POST"))
    await add_endpoint(desk, a_config("plain", f"{BASE}/x", interval_ms=60_000, body='{"connection":"billing"}'))

    assert [(each.kind, each.id, each.name) for each in await connection_users(desk, made)] == [
        ("endpoint", endpoint.id, "health")
    ]


def test_secrets_to_redact_are_those_of_connections_also_without_their_scheme() -> None:
    made = Connection("con_1", "default", "a", replace(HEADER, secret="Bearer abc"), 1, START, START)
    bare = replace(made, config=ConnectionConfig(BASE))

    assert connection_secrets([made, bare], lambda sealed, place: sealed) == ["Bearer abc", "abc"]


async def test_base_url_cannot_be_null(desk: Desk) -> None:
    await add_connection(desk, "billing", HEADER)

    with pytest.raises(InvalidInput, match="base_url cannot be null"):
        await edit_connection(desk, "billing", changed(base_url=None))


async def test_connection_and_endpoint_that_change_meanwhile_are_conflicts(desk: Desk) -> None:
    made = await add_connection(desk, "billing", ConnectionConfig(BASE))
    seen = await add_endpoint(desk, calls())
    act = rebase_act(desk, replace(seen, version=0), made, made)

    with pytest.raises(ChangedMeanwhile):
        act(seen, START)

    class Gone:
        def __init__(self) -> None:
            self.connection, self.users = real.connection, real.users

        async def delete_connection(self, tenant_id: str, connection_id: str, event: Event) -> bool:
            return False

    real = desk.stores.connections
    await archive_endpoint(desk, "health")
    with pytest.raises(NotFound):
        await delete_connection(replace(desk, stores=replace(desk.stores, connections=Gone())), "billing")


async def test_authority_changes_while_the_client_key_stays(desk: Desk) -> None:
    reading = replace(desk, check_certificates=check_certificates)
    authority = Authority("private")
    certificate, key = authority.client("one")
    await add_connection(reading, "billing", ConnectionConfig(BASE, client_certificate=certificate, client_key=key))
    edited = await edit_connection(reading, "billing", changed(description="x"))
    trusted = await edit_connection(reading, "billing", changed(ca=authority.pem))

    assert edited.config.client_key == trusted.config.client_key
