"""What every request meets, whatever its route: ids, headers, hosts, bodies, problems."""

import re
from collections.abc import AsyncIterator
from typing import Annotated

import pytest
from fastapi import Body, FastAPI, Request
from httpx2 import AsyncClient, Response

from mainspring.api.access import Reading
from mainspring.api.problems import PROBLEMS
from mainspring.domain.errors import InvalidInput, Misconfigured, StoreUnavailable
from mainspring.settings import Settings
from mainspring.wiring.stores import open_stores
from tests.api.app import client_of, open_app
from tests.stores.world import FixedClock


@pytest.fixture
async def framed(clock: FixedClock) -> AsyncIterator[FastAPI]:
    """The app with routes that fail in every way; the database does not matter here."""
    async with open_stores("sqlite:///:memory:", clock=clock) as stores, open_app(stores, clock) as app:
        faults = {
            "bug": ZeroDivisionError("secret value 42"),
            "away": StoreUnavailable("password in here"),
            "setting": Misconfigured("the key is 12345", setting="X"),
            "field": InvalidInput("interval 5 ms is too short; give more", field="every"),
        }

        @app.get("/api/v1/fails/{how}")
        async def fail(how: str) -> None:
            raise faults[how]

        @app.post("/api/v1/echo")
        async def echo(body: Annotated[dict[str, object], Body()]) -> dict[str, object]:
            return body

        @app.get("/api/v1/mine")
        async def mine(desk: Reading) -> dict[str, str]:
            return {"tenant": desk.tenant_id}

        yield app


@pytest.fixture
async def client(framed: FastAPI) -> AsyncIterator[AsyncClient]:
    async with client_of(framed) as made:
        yield made


def is_problem(answer: Response, status: int, kind: str) -> bool:
    said = answer.json()
    assert (answer.status_code, said["type"], said["status"]) == (status, f"/problems/{kind}", status), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert said["title"] == PROBLEMS[kind].title
    assert said["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.text
    return True


async def test_answer_carries_the_request_id_that_was_sent(client: AsyncClient) -> None:
    answer = await client.get("/healthz", headers={"X-Request-Id": "my-request-1"})

    assert answer.headers["x-request-id"] == "my-request-1"


@pytest.mark.parametrize("sent", ["", "short", "with space in it", "x" * 65, 'quote"quote"'])
async def test_request_id_that_could_forge_a_log_line_is_replaced(client: AsyncClient, sent: str) -> None:
    answer = await client.get("/healthz", headers={"X-Request-Id": sent})

    assert re.fullmatch(r"req_[0-9a-f]{20}", answer.headers["x-request-id"])


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/nothing", "/problems/not-found"])
async def test_every_answer_has_the_security_headers(client: AsyncClient, path: str) -> None:
    headers = (await client.get(path)).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe-inline" not in headers["content-security-policy"]


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("POST", "/nowhere", 404, "not-found"),
        ("GET", "/api/v1/nowhere", 404, "not-found"),
        ("GET", "/api/v1/mine/", 404, "not-found"),
        ("DELETE", "/api/v1/mine", 405, "method-not-allowed"),
        ("GET", "/api/v1/fails/bug", 500, "internal-error"),
        ("GET", "/api/v1/fails/setting", 500, "misconfigured"),
        ("GET", "/api/v1/fails/away", 503, "store-unavailable"),
        ("GET", "/api/v1/fails/field", 422, "invalid-input"),
    ],
)
async def test_every_error_is_a_problem(client: AsyncClient, method: str, path: str, status: int, kind: str) -> None:
    answer = await client.request(method, path)

    assert is_problem(answer, status, kind)
    assert not re.search("secret value|password|12345", answer.text)


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/api/v1/endpoints", "GET, POST"),
        ("/api/v1/endpoints/health", "GET, PATCH, DELETE"),
        ("/api/v1/mine", "GET"),
        ("/healthz", "GET"),
    ],
)
async def test_method_that_is_not_served_is_answered_with_all_that_are(
    client: AsyncClient, path: str, methods: str
) -> None:
    answer = await client.put(path)

    assert is_problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == methods


async def test_fault_in_a_field_is_pointed_at(client: AsyncClient) -> None:
    answer = await client.get("/api/v1/fails/field")

    assert answer.json()["errors"] == [{"pointer": "/every", "detail": "interval 5 ms is too short; give more"}]


async def test_unavailable_database_says_when_to_try_again(client: AsyncClient) -> None:
    assert (await client.get("/api/v1/fails/away")).headers["retry-after"] == "5"


async def test_without_a_key_the_answer_is_401_and_names_the_scheme(framed: FastAPI) -> None:
    async with client_of(framed, tenant="") as nobody:
        answer = await nobody.get("/api/v1/mine")

    assert is_problem(answer, 401, "not-authenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_without_the_scope_the_answer_is_403(framed: FastAPI) -> None:
    async with client_of(framed, scopes="run") as runner:
        answer = await runner.get("/api/v1/mine")

    assert is_problem(answer, 403, "forbidden")


BAD_BODIES = {
    "not JSON": (b"{", 400),
    "a trailing comma": (b'{"a":1,}', 400),
    "NaN": (b'{"a":NaN}', 400),
    "minus infinity": (b'{"a":-Infinity}', 400),
    "a name twice": (b'{"a":1,"a":2}', 400),
    "a name twice deeper down": (b'{"a":[{"b":1,"b":1}]}', 400),
    "a byte order mark": (b'\xef\xbb\xbf{"a":1}', 400),
    "UTF-16": ('{"a":1}'.encode("utf-16"), 400),
    "bytes that are no UTF-8": (b'{"a":"\xff"}', 400),
    "nested 10,000 deep": (b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}", 400),
    "nested deep and never closed": (b"[" * 29_000, 400),
    "more values than are read": (b"[" + b"1," * 31_000 + b"1]", 413),
    "more texts than are read": (b"[" + b'"",' * 61_000 + b'""]', 413),
    "a name twice among very many": (b"{" + b",".join(b'"%d":1' % n for n in range(20_000)) + b',"19999":1}', 400),
    "a number of 5,000 digits": (b'{"a":' + b"9" * 5_000 + b"}", 400),
    "an array": (b"[1]", 422),
    "a number": (b"1", 422),
    "null": (b"null", 422),
    "more than 1 MB": (b'{"a":"' + b"x" * 1_000_000 + b'"}', 413),
}


@pytest.mark.parametrize("what", BAD_BODIES)
async def test_body_that_is_not_strict_json_is_refused(client: AsyncClient, what: str) -> None:
    body, status = BAD_BODIES[what]
    answer = await client.post("/api/v1/echo", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == status, answer.text
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


async def test_body_is_cut_off_while_it_streams(client: AsyncClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 50_000_000:
            sent += 65_536
            yield b" " * 65_536

    answer = await client.post("/api/v1/echo", content=endless(), headers={"content-type": "application/json"})

    assert is_problem(answer, 413, "too-large")
    assert sent < 1_200_000


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "text/html"},
        {"content-type": "text/plain"},
        {"content-type": "application/yaml"},
        {"content-type": ""},
        {"content-type": "application/json", "content-encoding": "gzip"},
        {"content-type": "multipart/form-data; boundary=x"},
    ],
)
async def test_body_of_another_type_is_refused_with_415(client: AsyncClient, headers: dict[str, str]) -> None:
    answer = await client.post("/api/v1/echo", content=b'{"a":1}', headers=headers)

    assert is_problem(answer, 415, "unsupported-media-type")


@pytest.mark.parametrize("name", ["Authorization", "Host", "Content-Type", "Idempotency-Key"])
async def test_header_that_was_sent_twice_is_refused(framed: FastAPI, name: str) -> None:
    async with client_of(framed) as client:
        answer = await client.get("/healthz", headers=[(name, "127.0.0.1"), (name, "127.0.0.1")])

    assert is_problem(answer, 400, "malformed-request")


HOSTS = {
    "127.0.0.1": True,
    "127.0.0.1:8080": True,
    "[::1]:8080": True,
    "localhost": True,
    "spring": True,
    "spring.example.com": True,
    "SPRING.example.com.:443": True,
    "a.example.org": True,
    "evil.example.net": False,
    "127.0.0.1.nip.io": False,
    "example.org.evil.net": False,
}


@pytest.mark.parametrize("host", HOSTS)
async def test_only_hosts_that_are_ours_are_answered(clock: FixedClock, host: str) -> None:
    settings = Settings(allowed_hosts=("spring.example.com", "*.example.org"))
    async with (
        open_stores("sqlite:///:memory:", clock=clock) as stores,
        open_app(stores, clock, settings) as app,
        client_of(app) as client,
    ):
        answer = await client.get("/", headers={"Host": host})

    assert answer.status_code == (200 if HOSTS[host] else 421)


async def test_rate_is_told_and_what_is_beyond_it_is_refused_with_429(clock: FixedClock) -> None:
    settings = Settings(api_requests_per_minute=10)
    async with (
        open_stores("sqlite:///:memory:", clock=clock) as stores,
        open_app(stores, clock, settings) as app,
        client_of(app) as client,
    ):

        @app.get("/api/v1/mine")
        async def mine(desk: Reading) -> dict[str, str]:
            return {"tenant": desk.tenant_id}

        answers = [await client.get("/api/v1/mine") for _ in range(12)]

    assert [answer.status_code for answer in answers] == [200] * 10 + [429] * 2
    assert answers[0].headers["ratelimit-remaining"] == "9"
    assert is_problem(answers[-1], 429, "too-many-requests")
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 6


@pytest.mark.parametrize("kind", PROBLEMS)
async def test_every_kind_of_problem_has_a_page(client: AsyncClient, kind: str) -> None:
    answer = await client.get(f"/problems/{kind}")

    assert answer.status_code == 200
    assert PROBLEMS[kind].title in answer.text


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_request_that_only_reads_has_no_body(framed: FastAPI, method: str) -> None:
    async with client_of(framed) as client:
        answer = await client.request(
            method, "/api/v1/jobs", content=b"{}", headers={"Content-Type": "application/json"}
        )

    assert answer.status_code == 400


async def test_length_and_transfer_encoding_together_are_refused(framed: FastAPI) -> None:
    """Where the body ends would be a guess, and a proxy in front may guess otherwise."""
    headers = {"Content-Length": "2", "Transfer-Encoding": "chunked", "Content-Type": "application/json"}
    async with client_of(framed) as client:
        answer = await client.request("POST", "/api/v1/jobs", content=b"{}", headers=headers)

    assert is_problem(answer, 400, "malformed-request")
    assert "Transfer-Encoding" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "most"), [("/api/v1/auth/login", 16_000), ("/api/v1/jobs", 256_000), ("/mcp", 600_000)]
)
async def test_body_is_bounded_by_what_its_route_needs(framed: FastAPI, path: str, most: int) -> None:
    async with client_of(framed) as client:
        answer = await client.post(path, json={"email": "x" * most})

    assert is_problem(answer, 413, "too-large")
    assert f"{most:,} bytes" in answer.json()["detail"]


async def test_body_for_assistants_may_be_as_large_as_that_of_an_endpoint(framed: FastAPI) -> None:
    @framed.post("/mcp")
    async def take(request: Request) -> int:
        return len(await request.body())

    async with client_of(framed) as client:
        accepted = await client.post("/mcp", json={"body": "x" * 599_000})
        refused = await client.post("/mcp", json=[[]] * 31_000)

    assert accepted.json() > 599_000
    assert is_problem(refused, 413, "too-large")
