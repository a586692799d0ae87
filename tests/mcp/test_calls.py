"""An assistant asks to be called at a time, within the limits of its key."""

from tests.mcp.conftest import Assistant, House


async def test_assistant_asks_for_a_call_once_by_its_key(assistant: Assistant, house: House) -> None:
    tried = await assistant("call_later", url="https://example.com/", at="in 10m", key="check", dry_run=True)
    first = await assistant("call_later", url="https://example.com/", at="in 10m", key="check", retry={"attempts": 2})
    again = await assistant("call_later", url="https://example.com/other", key="check")
    why = await assistant("why", endpoint=first["call"]["id"])

    stored = await house.desk().stores.calls.call("default", "check")
    assert stored is not None
    assert (tried["dry_run"], tried["call"]["is_new"]) == (True, True)
    assert (first["call"]["is_new"], again["call"]["is_new"]) == (True, False)
    assert first["call"]["id"] == again["call"]["id"] == stored.id
    assert stored.retry is not None
    assert "single run" in str(why)


async def test_archived_call_is_cancelled(assistant: Assistant, house: House) -> None:
    made = await assistant("call_later", url="https://example.com/", at="in 10m", key="check")
    await assistant("archive_endpoint", endpoint=made["call"]["id"], confirm=made["call"]["id"])

    stored = await house.desk().stores.calls.call("default", "check")
    assert stored is not None
    assert stored.archived_at is not None
