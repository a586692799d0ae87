"""`mainspring user`, `member`, `apikey`, `audit`: what a person without a browser needs."""

import json
import urllib.request

import pytest

from tests.cli.shell import Shell
from tests.cli.test_serve import start_server
from tests.harness.processes import Processes

PASSWORD = "four words in a row\n"


def test_first_user_is_owner_and_operator(any_shell: Shell) -> None:
    any_shell.ok("user", "add", "Ann@Example.com", "--name", "Ann", "--password-stdin", stdin=PASSWORD)
    any_shell.ok("user", "add", "bo@example.com", "--password-stdin", stdin=PASSWORD)
    users = any_shell.json("user", "list")
    members = any_shell.json("member", "list")

    assert [(user["email"], user["operator"], user["has_password"]) for user in users] == [
        ("ann@example.com", True, True),
        ("bo@example.com", False, True),
    ]
    assert [(member["email"], member["role"]) for member in members] == [("ann@example.com", "owner")]


def test_user_without_a_password_gets_a_link(shell: Shell) -> None:
    said = shell.json("user", "add", "ann@example.com")

    assert said["user"]["email"] == "ann@example.com"
    assert said["link"].startswith("http://127.0.0.1:8080/setup#token=")


def test_link_for_the_first_owner_is_made_only_while_there_is_none(shell: Shell) -> None:
    link = shell.json("user", "link")["link"]
    shell.ok("user", "add", "ann@example.com", "--password-stdin", stdin=PASSWORD)

    assert "#token=" in link
    assert "this installation already has users" in shell.refused("user", "link", code=4)
    assert "set MAINSPRING_PUBLIC_URL" in shell("user", "link", "ann@example.com").stderr
    assert "#token=" in shell.json("user", "link", "ann@example.com")["link"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("user", "add", "nobody"), 1, "email 'nobody' is not an email address; write it like ann@example.com"),
        (("user", "password", "ann@example.com"), 1, "there is no terminal to prompt for the password"),
        (("user", "disable", "an@example.com"), 3, "did you mean 'ann@example.com'?"),
        (("user", "disable", "ann@example.com"), 4, "the last operator of this installation"),
        (("member", "role", "bo@example.com", "--role", "viewer"), 3, "no member 'bo@example.com'"),
        (("member", "remove", "ann@example.com"), 4, "without an owner"),
        (("apikey", "revoke", "abcdefgh"), 3, "no live API key 'abcdefgh'"),
        (("apikey", "create", "x", "--expires", "10s"), 1, "a key cannot be valid for 0:00:10"),
        (("tenant", "create", "No Such"), 1, "tenant id 'No Such' is not valid"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_refusal_says_what_was_wrong(shell: Shell, arguments: tuple[str, ...], code: int, words: str) -> None:
    shell.ok("user", "add", "ann@example.com", "--password-stdin", stdin=PASSWORD)

    assert words in shell.refused(*arguments, code=code)


def test_short_password_is_refused_in_clear_words(shell: Shell) -> None:
    result = shell("user", "add", "ann@example.com", "--password-stdin", stdin="hunter2\n")

    assert result.exit_code == 1
    assert "the password has 7 characters; it needs at least 12" in result.stderr
    assert "hunter2" not in result.output


def test_key_is_made_listed_and_revoked(any_shell: Shell) -> None:
    made = any_shell.json("apikey", "create", "ci", "--scope", "read", "--scope", "run", "--expires", "1d")
    listed = any_shell.json("apikey", "list")
    any_shell.ok("apikey", "revoke", made["id"])

    assert made["key"].startswith(f"ms_{made['id']}_")
    assert [(key["id"], key["scopes"], key["status"]) for key in listed] == [(made["id"], ["read", "run"], "live")]
    assert made["key"] not in json.dumps(listed)
    assert any_shell.json("apikey", "list")[0]["status"] == "revoked"


def test_what_was_done_is_in_the_trail_and_the_trail_is_whole(any_shell: Shell) -> None:
    any_shell.add("health")
    any_shell.ok("apikey", "create", "ci")
    any_shell.ok("user", "add", "ann@example.com", "--password-stdin", stdin=PASSWORD)
    acts = [(entry["act"], entry["actor"]) for entry in any_shell.json("audit", "list")]
    of_all = [entry["act"] for entry in any_shell.json("audit", "list", "--installation")]

    assert acts == [
        ("member.changed", "cli"),
        ("api_key.created", "cli"),
        ("endpoint.created", "cli"),
        ("job.created", "cli"),
    ]
    assert of_all == ["user.created"]
    assert any_shell.ok("audit", "verify") == "the trail is valid: 4 entries\n"
    assert any_shell.ok("audit", "verify", "--installation") == "the trail is valid: 1 entry\n"


def test_export_is_in_the_trail(shell: Shell) -> None:
    shell.ok("migrate")  # what only reads makes no database
    shell.ok("export")
    (entry,) = shell.json("audit", "list")

    assert (entry["act"], entry["subject"]) == ("data.exported", "configuration")


def test_trail_verified_with_another_key_is_broken_at_its_first_entry(shell: Shell) -> None:
    """Another process, or a thief, with the database but not the key: every entry is sealed with what it lacks."""
    shell.ok("apikey", "create", "ci")
    other = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
    result = shell("audit", "verify", MAINSPRING_SECRET_KEY=other)

    assert result.exit_code == 78
    assert "encrypted with key" in result.stderr


def test_served_link_makes_the_first_owner(any_shell: Shell, processes: Processes) -> None:
    server = start_server(processes, any_shell)
    link = server.wait_for("/setup#token=").strip()
    site, _, token = link.partition("/setup#token=")
    wish = {"token": token, "email": "ann@example.com", "password": PASSWORD.strip()}
    request = urllib.request.Request(
        f"{site}/api/v1/auth/setup", json.dumps(wish).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        said = json.load(answer)
    with urllib.request.urlopen(f"{site}/setup") as page:
        html = page.read().decode()

    assert (said["actor"], said["operator"]) == ("user:ann@example.com", True)
    assert "<title>Mainspring" in html  # of the web UI, or of the bare form where it is not built
    assert any_shell.json("user", "list")[0]["email"] == "ann@example.com"
    (login, created) = any_shell.json("audit", "list", "--installation")
    assert (login["act"], created["act"], login["address"]) == ("login.succeeded", "user.created", "127.0.0.1")


def test_second_factor_that_is_not_there_is_not_reset(shell: Shell) -> None:
    shell.ok("user", "add", "ann@example.com", "--password-stdin", stdin="four words in a row\n")

    assert "ann@example.com has no second factor" in shell("user", "reset-factor", "ann@example.com").output
