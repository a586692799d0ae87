"""A stored secret is never sent to an origin that it was not given for."""

import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.harness.config import a_config, edited

from mainspring.documents.apply import apply_files
from mainspring.documents.faults import InvalidDocument
from mainspring.documents.plan import Options
from mainspring.documents.references import sent
from mainspring.domain.connection import Auth, ConnectionConfig, with_fields
from mainspring.domain.endpoint import EndpointConfig
from mainspring.domain.errors import InvalidInput
from mainspring.domain.run import Header
from mainspring.operations.connections import add_connection, edit_connection
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint, edit_endpoint, find_endpoint

SECRET = Header("Authorization", "Bearer s3cret", secret=True)
PLAIN = Header("X-Team", "blue")
BASE = "https://api.example.com/jobs"
ELSEWHERE = ["https://evil.example.com/jobs", "http://api.example.com/jobs", "https://api.example.com:8443/jobs"]
DOCUMENT = "endpoints: {billing: {url: '%s', every: 1m, headers: {Authorization: '${stored}'}}}"


@pytest.fixture
async def billing(desk: Desk) -> EndpointConfig:
    definition = a_config(name="billing", url=BASE, interval_ms=60_000, headers=(SECRET, PLAIN))
    await add_endpoint(replace(desk, allow_ports=frozenset({8443})), definition)
    return definition


@pytest.mark.parametrize("url", ELSEWHERE, ids=["host", "scheme", "port"])
async def test_url_at_another_origin_needs_the_secrets_again(desk: Desk, billing: EndpointConfig, url: str) -> None:
    desk = replace(desk, allow_ports=frozenset({8443}))
    with pytest.raises(InvalidInput, match=r"'Authorization' were given for https://api\.example\.com:443") as refused:
        await edit_endpoint(desk, "billing", lambda old: edited(old, url=url))

    assert refused.value.field == "headers"
    assert http_of(await find_endpoint(desk, "billing")).url == BASE


@pytest.mark.parametrize("url", ELSEWHERE, ids=["host", "scheme", "port"])
async def test_document_with_a_stored_secret_cannot_move_it(desk: Desk, billing: EndpointConfig, url: str) -> None:
    desk = replace(desk, allow_ports=frozenset({8443}))
    with pytest.raises(InvalidDocument, match=r"was given for https://api\.example\.com:443"):
        await apply_files(desk, [("f.yaml", (DOCUMENT % url).encode())], Options(sent({}), {}))

    assert http_of(await find_endpoint(desk, "billing")).url == BASE


async def test_url_moves_with_new_secrets_or_without_any(desk: Desk, billing: EndpointConfig) -> None:
    fresh = replace(SECRET, value="Bearer another")
    await edit_endpoint(desk, "billing", lambda old: edited(old, url=ELSEWHERE[0], headers=(fresh, PLAIN)))
    await edit_endpoint(desk, "billing", lambda old: edited(old, url=BASE, headers=(PLAIN,)))

    assert http_of(await find_endpoint(desk, "billing")).headers == (PLAIN,)


async def test_path_changes_with_the_stored_secret(desk: Desk, billing: EndpointConfig) -> None:
    await edit_endpoint(desk, "billing", lambda old: edited(old, url="https://API.example.com:443/other?x=1"))
    text = DOCUMENT % "https://api.example.com/third"
    await apply_files(desk, [("f.yaml", text.encode())], Options(sent({}), {}))

    assert http_of(await find_endpoint(desk, "billing")).headers[0].secret


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"auth": "header", "header": "X-Key"}, "secret would be used for auth header at https://api.example.com"),
        (
            {"base_url": "https://login.example.com/", "token_url": "https://api.example.com/token"},
            "secret would be used for the token_url at https://api.example.com",
        ),
    ],
)
async def test_client_secret_is_sent_to_the_token_server_alone(
    fields: dict[str, object], message: str, desk: Desk
) -> None:
    """The target gets tokens only. It must not get the secret that they are obtained with."""
    login = "https://login.example.com/token"
    oauth = ConnectionConfig(BASE, auth=Auth.OAUTH2, token_url=login, client_id="a", secret="canary-Zq81")
    await add_connection(desk, "billing", oauth)

    with pytest.raises(InvalidInput, match=message):
        await edit_connection(desk, "billing", lambda old: with_fields(old, fields))
    fresh = fields | {"secret": "another"}
    assert (await edit_connection(desk, "billing", lambda old: with_fields(old, fresh))).version == 2
