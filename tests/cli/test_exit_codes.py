"""Each exit code means one thing; see EXIT_CODES."""

import json
from base64 import b64encode
from pathlib import Path

import pytest

from mainspring.cli.command import EXIT_CODE_OF, EXIT_CODES, WOULD_CHANGE
from mainspring.domain.errors import MainspringError
from tests.cli.shell import Shell


def test_every_error_has_an_exit_code_and_every_exit_code_a_meaning() -> None:
    assert set(EXIT_CODE_OF) == set(MainspringError.__subclasses__())
    assert set(EXIT_CODE_OF.values()) | {0, 2, WOULD_CHANGE} == set(EXIT_CODES)


@pytest.mark.parametrize("arguments", [("endpoint", "frobnicate"), ("endpoint", "list", "--frob"), ("runs", "-n", "x")])
def test_usage_is_2(shell: Shell, arguments: tuple[str, ...]) -> None:
    assert shell(*arguments).exit_code == 2


def test_unknown_command_and_option_suggest_the_nearest(shell: Shell) -> None:
    assert "did you mean 'endpoint'" in shell("endpont", "list").stderr
    assert "--archived" in shell("endpoint", "list", "--archive").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("endpoint", "show", "helth"), "no endpoint 'helth', did you mean 'health'?"),
        (("endpoint", "edit", "helth", "--every", "5s"), "no endpoint 'helth', did you mean 'health'?"),
        (("endpoint", "delete", "helth", "--yes"), "no endpoint 'helth', did you mean 'health'?"),
        (("why", "helth"), "no endpoint 'helth', did you mean 'health'?"),
        (("next", "helth"), "no endpoint 'helth', did you mean 'health'?"),
        (("hint", "clear", "helth"), "no endpoint 'helth', did you mean 'health'?"),
        (("runs", "helth"), "no endpoint 'helth', did you mean 'health'?"),
        (("run", "show", "run_1"), "no run 'run_1'; `mainspring runs` lists all"),
        (("runs", "--before", "xx"), "no run 'xx'; `mainspring runs` lists all"),
        (("job", "pause", "defalt"), "no job 'defalt', did you mean 'default'?"),
        (
            ("signing-key", "revoke", "sk_1"),
            "no signing key 'sk_1'; `mainspring signing-key list` lists all",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_not_there_is_3_with_the_nearest_name(
    any_shell: Shell, arguments: tuple[str, ...], message: str
) -> None:
    any_shell.add("health")

    assert any_shell.refused(*arguments, code=3) == message


def test_taken_name_is_4(any_shell: Shell) -> None:
    any_shell.add("health")
    any_shell.ok("job", "add", "billing")

    taken = any_shell.refused("endpoint", "add", "health", "--url", "https://example.com/", "--every", "5s", code=4)
    assert taken == "another endpoint is named 'health' already; names are unique, choose another"
    assert "another job is named 'billing' already" in any_shell.refused("job", "add", "billing", code=4)


def test_endpoint_of_a_paused_job_does_not_run_and_is_4(any_shell: Shell) -> None:
    any_shell.add("health", "--job", "billing")
    any_shell.ok("job", "pause", "billing")

    assert "belongs to a job that is not active; resume the job first" in any_shell.refused(
        "endpoint", "run", "health", code=4
    )


def test_database_that_does_not_answer_is_5(tmp_path: Path) -> None:
    shell = Shell(
        {"MAINSPRING_DATA_DIR": str(tmp_path), "MAINSPRING_DATABASE_URL": "postgresql://u:hunter2@127.0.0.1:1/x"}
    )

    message = shell.refused("endpoint", "list", code=5)

    assert message.startswith("the database does not answer: ")
    assert message.endswith("or set MAINSPRING_DATABASE_URL, which is postgresql://u:••••@127.0.0.1:1/x")
    assert "hunter2" not in message
    result = shell("endpoint", "list", "-o", "json")
    assert json.loads(result.stderr)["error"]["code"] == "store-unavailable"


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("MAINSPRING_CONCURENCY", "5", "did you mean 'MAINSPRING_CONCURRENCY'?"),
        (
            "MAINSPRING_HOST_LIMITS",
            "a=x",
            "MAINSPRING_HOST_LIMITS='a=x': 'x' of 'a=x' is not a limit, or is given twice",
        ),
        ("MAINSPRING_PORT", "abc", "MAINSPRING_PORT='abc' is not a whole number; write it in digits"),
        ("MAINSPRING_TENANT", "", "MAINSPRING_TENANT='' is too short; its length must be 1 or more"),
        ("MAINSPRING_TENANT", "Bad Tenant", "MAINSPRING_TENANT: tenant id 'Bad Tenant' is not valid; use 1 to 63 of"),
        ("MAINSPRING_DATABASE_URL", "mysql://u:hunter2@h/x", "unknown kind of database 'mysql'; give sqlite:///"),
        ("MAINSPRING_DATABASE_URL", "u:hunter2@h/x", "unknown kind of database; give sqlite:///"),
        ("MAINSPRING_DATABASE_URL", "sqlite://", "has no file; write sqlite:///path/to/file.db"),
        ("MAINSPRING_DATABASE_URL", "sqlite:///proc/x.db", "cannot open the database file /proc/x.db"),
        ("MAINSPRING_DATABASE_URL", "postgresql://u:hun/ter2@h:port/x", "the URL cannot be read; "),
        ("MAINSPRING_SECRET_KEY", "abc", "is not 32 bytes in base64; create one with"),
        ("MAINSPRING_DATA_DIR", "/proc/nowhere", "set MAINSPRING_DATA_DIR to another directory"),
    ],
)
def test_wrong_setting_is_78(shell: Shell, setting: str, value: str, message: str) -> None:
    shell.env[setting] = value

    said = shell.refused("job", "add", "shop", code=78)

    assert message in said
    assert "ter2" not in said


def test_file_that_is_no_database_is_78(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("these are notes, not a database" * 100)
    shell.env["MAINSPRING_DATABASE_URL"] = f"sqlite://{tmp_path}/notes.txt"

    assert "file is not a database; it must be an SQLite file" in shell.refused("job", "list", code=78)


def test_database_and_password_that_postgresql_refuses_are_78(shell: Shell, postgres_url: str) -> None:
    for wrong in (postgres_url + "_gone", postgres_url.replace("@", "x@", 1)):
        shell.env["MAINSPRING_DATABASE_URL"] = wrong
        assert shell.refused("job", "list", code=78).startswith("PostgreSQL refused: ")


def test_another_secret_key_than_the_databases_is_78(shell: Shell) -> None:
    shell.add("health")
    shell.env["MAINSPRING_SECRET_KEY"] = b64encode(b"k" * 32).decode()

    assert "are encrypted with key" in shell.refused("endpoint", "list", code=78)


def test_key_file_that_others_may_read_is_78(shell: Shell) -> None:
    shell.add("health")
    (Path(str(shell.env["MAINSPRING_DATA_DIR"])) / "secret.key").chmod(0o644)

    assert "run: chmod 600 " in shell.refused("endpoint", "list", code=78)
