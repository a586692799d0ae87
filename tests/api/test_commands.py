"""Programs that the operator's list does not allow, at every route that could bring one in, as every role."""

from typing import Any

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient

from mainspring.domain.access.scope import SCOPES_OF, Role
from tests.api.app import client_of
from tests.kind_samples import SAMPLES

PATH = "/api/v1/endpoints"
STEAL = {"kind": "command", "command": ["/bin/cat", "/etc/shadow"]}
WISH = {"name": "it", "every": "5m", **STEAL}
DOCUMENT = "endpoints: {it: {kind: command, command: [/bin/cat, /etc/shadow], every: 5m}}"
ATTEMPTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "create": ("POST", PATH, WISH),
    "create, dry run": ("POST", f"{PATH}?dry_run=true", WISH),
    "test call of the form": ("POST", f"{PATH}/check", WISH),
    "another program": ("PATCH", f"{PATH}/listed", {"command": STEAL["command"]}),
    "another program, dry run": ("PATCH", f"{PATH}/listed?dry_run=true", {"command": STEAL["command"]}),
    "another kind": ("PATCH", f"{PATH}/page", STEAL),
    "document": ("POST", "/api/v1/config/apply", {"document": DOCUMENT}),
    "document, dry run": ("POST", "/api/v1/config/apply?dry_run=true", {"document": DOCUMENT}),
}
ROLES = {role.value: " ".join(SCOPES_OF[role]) for role in Role}


async def refusals(api: AsyncClient) -> list[str]:
    answer = await api.get("/api/v1/audit", params={"limit": 100})
    return [each["actor"] for each in answer.json()["items"] if each["act"] == "command.refused"]


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.OWNER, "administrator"])
async def test_unlisted_program_is_refused_and_audited_at_every_route(
    app: FastAPI, api: AsyncClient, role: str
) -> None:
    listed = {"name": "listed", "every": "5m", **SAMPLES["command"]}
    page = {"name": "page", "every": "5m", "url": "https://example.com/"}
    assert [(await api.post(PATH, json=each)).status_code for each in (listed, page)] == [201, 201]
    scopes, is_operator = ROLES.get(role, ROLES[Role.OWNER]), role == "administrator"
    async with client_of(app, scopes=scopes, actor=f"user:{role}", is_operator=is_operator) as client:
        answers = {
            name: await client.request(method, path, json=wish) for name, (method, path, wish) in ATTEMPTS.items()
        }

    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(ATTEMPTS, 422)
    assert all("program '/bin/cat' is not allowed" in answer.text for answer in answers.values())
    assert await refusals(api) == [f"user:{role}"] * len(ATTEMPTS)
    assert (await api.get(f"{PATH}/it")).status_code == 404
    assert (await api.get(f"{PATH}/listed")).json()["command"] == SAMPLES["command"]["command"]


async def test_viewer_gets_as_far_as_with_any_endpoint(app: FastAPI, api: AsyncClient) -> None:
    async with client_of(app, scopes=ROLES[Role.VIEWER], actor="user:viewer") as client:
        for method, path, wish in ATTEMPTS.values():
            assert (await client.request(method, path, json=wish)).status_code == 403


async def test_who_may_only_run_endpoints_chooses_no_arguments(app: FastAPI, api: AsyncClient) -> None:
    wish = {"name": "it", "every": "5m", "kind": "command", "command": ["/usr/local/bin/backup", "--other"]}
    async with client_of(app, scopes="read run") as client:
        refused = await client.post(f"{PATH}/check", json=wish)
    allowed = await api.post(f"{PATH}/check", json=wish)

    assert (refused.status_code, allowed.status_code) == (403, 200), refused.text
    assert "chooses the arguments of a program" in refused.json()["detail"]


async def test_call_takes_no_program(api: AsyncClient) -> None:
    answer = await api.post("/api/v1/calls", json={"calls": [{"url": "https://example.com/", **STEAL}]})

    assert answer.status_code == 422
    assert "unknown field 'kind'" in answer.text
