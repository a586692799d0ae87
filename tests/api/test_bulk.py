"""One act over many endpoints: by id or by what a list would show, in batches; refusals stop nobody else."""

import pytest
from httpx2 import AsyncClient

from mainspring.operations import bulk_endpoints
from tests.api.acting import Json, make


async def act(api: AsyncClient, path: str = "act", query: str = "", **wish: object) -> Json:
    answer = await api.post(f"/api/v1/bulk/{path}{query}", json=wish)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def states(api: AsyncClient) -> dict[str, str]:
    found = (await api.get("/api/v1/endpoints")).json()["items"]
    return {each["name"]: each["status"] for each in found}


async def test_all_that_match_are_paused_and_no_others(api: AsyncClient) -> None:
    for name in ("shop a", "shop b", "other"):
        await make(api, name=name)
    done = await act(api, verb="pause", matching={"text": "SHOP"}, reason="moving", duration="1h")

    assert (done["matched"], done["changed"], done["next_cursor"]) == (2, 2, None)
    assert await states(api) == {"shop a": "paused", "shop b": "paused", "other": "active"}


async def test_batches_follow_each_other_though_what_was_changed_matches_no_more(
    api: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in range(5):
        await make(api, name=f"e{place}")
    monkeypatch.setattr("mainspring.api.routes.bulk.BATCH", 2)
    first = await act(api, verb="pause", matching={"state": "active"})
    second = await act(api, query=f"?cursor={first['next_cursor']}", verb="pause", matching={"state": "active"})
    third = await act(api, query=f"?cursor={second['next_cursor']}", verb="pause", matching={"state": "active"})

    assert [each["changed"] for each in (first, second, third)] == [2, 2, 1]
    assert third["next_cursor"] is None
    assert set((await states(api)).values()) == {"paused"}


async def test_a_cursor_with_anything_added_changes_nothing(api: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in range(3):
        await make(api, name=f"e{place}")
    monkeypatch.setattr("mainspring.api.routes.bulk.BATCH", 2)
    first = await act(api, verb="pause", matching={"state": "active"})
    wish = {"verb": "pause", "matching": {"state": "active"}}
    refused = await api.post(f"/api/v1/bulk/act?cursor={first['next_cursor']}!", json=wish)

    assert (refused.status_code, refused.json()["errors"][0]["parameter"]) == (400, "cursor")
    assert sorted((await states(api)).values()) == ["active", "paused", "paused"]


async def test_one_that_refuses_stops_nobody_else_and_is_told(api: AsyncClient) -> None:
    archived, alive = await make(api, name="gone"), await make(api, name="alive")
    await api.post("/api/v1/endpoints/gone/archive")
    done = await act(api, verb="run", ids=[archived["id"], alive["id"], "ep_none", alive["id"]])

    assert (done["matched"], done["changed"], done["refused_count"]) == (2, 1, 1)
    assert done["refused"][0]["name"] == "gone"
    assert "is archived" in done["refused"][0]["why"]


async def test_every_verb_does_to_many_what_it_does_to_one(api: AsyncClient) -> None:
    await make(api, name="a")
    await api.put("/api/v1/endpoints/a/hints/interval", json={"every": "30s"})
    verbs = ("pause", "resume", "clear-hints", "reset-failures", "run")
    changed = [(await act(api, verb=verb, matching={}))["changed"] for verb in verbs]
    again = [(await act(api, verb=verb, matching={}))["changed"] for verb in verbs[1:]]

    assert changed == [1, 1, 1, 0, 1]
    assert again == [0, 0, 0, 0]


async def test_rehearsal_counts_and_changes_nothing(api: AsyncClient) -> None:
    for name in ("a", "b"):
        await make(api, name=name)
    would = await act(api, "archive", "?dry_run=true", matching={})

    assert (would["dry_run"], would["changed"]) == (True, 2)
    assert set((await states(api)).values()) == {"active"}


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        pytest.param({"verb": "run"}, "give either ids or matching", id="neither"),
        pytest.param({"verb": "run", "ids": [], "matching": {}}, "give either ids or matching", id="both"),
        pytest.param({"verb": "run", "ids": ["x"] * (bulk_endpoints.BATCH + 1)}, "500", id="too many ids"),
        pytest.param({"verb": "delete", "matching": {}}, "run", id="a verb that is none"),
        pytest.param({"verb": "run", "matching": {"colour": "red"}}, "colour", id="a filter that is none"),
    ],
)
async def test_what_is_unclear_is_refused_whole(api: AsyncClient, wish: Json, words: str) -> None:
    answer = await api.post("/api/v1/bulk/act", json=wish)

    assert answer.status_code == 422
    assert words in answer.text
