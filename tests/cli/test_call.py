"""`mainspring call ...`, on both databases and through a server."""

from tests.cli.local_and_remote import Pair, same
from tests.cli.shell import Shell


def test_call_is_added_listed_shown_and_cancelled(any_shell: Shell) -> None:
    added = any_shell.json("call", "add", "https://example.com/remind", "--at", "in 10m", "--key", "order-17")
    again = any_shell("call", "add", "https://example.com/other", "--key", "order-17").output
    listed = any_shell.json("call", "list", "--state", "waiting")
    shown = any_shell("call", "show", "order-17").output
    reason = any_shell("why", added["id"]).output
    cancelled = any_shell.json("call", "cancel", "order-17")

    assert (added["status"], added["is_new"]) == ("waiting", True)
    assert f"call {added['id']} already has the key 'order-17'" in again
    assert [each["id"] for each in listed] == [added["id"]]
    assert "GET https://example.com/remind" in shown
    assert "set by the single run" in reason
    assert cancelled["status"] == "cancelled"
    assert any_shell.json("endpoint", "list") == []


def test_unknown_call_is_refused(shell: Shell) -> None:
    refused = shell("call", "show", "nothing")

    assert refused.exit_code != 0
    assert "no call 'nothing'; `mainspring call list` lists all" in refused.output


async def test_calls_retries_and_single_runs_are_the_same_through_a_server(pair: Pair) -> None:
    await pair.json("call", "add", "https://example.com/", "--at", "in 10m", "--key", "a", "--retry-attempts", "3")
    await pair.json(
        "endpoint", "add", "gift", "--url", "https://example.com/", "--at", "in 1h", "--confirm", "2 within 5s"
    )
    edited = await pair.json("endpoint", "edit", "gift", "--retry-delay", "5m", "--at", "in 2h")
    again = await pair.json("endpoint", "edit", "gift", "--retry-attempts", "5")

    assert (edited["retry"]["attempts"], again["retry"]["attempts"], again["retry"]["delay_ms"]) == (3, 5, 300_000)
    for command in (("call", "list"), ("call", "show", "a"), ("endpoint", "show", "gift"), ("next", "gift")):
        await same(pair, *command)
