"""A command line that makes no sense is answered in our words: what was given, the rule, and the way out. Exit 2."""

import json

import pytest

from tests.cli.shell import Shell

ADD = ("endpoint", "add", "x", "--url", "https://example.com/")
CASES = {
    "a scope with a typo": (
        ("apikey", "create", "ci", "--scope", "reed"),
        "--scope 'reed' is not one of read, run, write, admin, did you mean 'read'?",
    ),
    "an option as another door calls it": (
        (*ADD, "--interval", "5s"),
        "unknown option '--interval', did you mean '--every'?",
    ),
    "an option by the field of the API": (
        (*ADD, "--min", "5s"),
        "unknown option '--min', did you mean '--min-interval'?",
    ),
    "an option by a longer name": (
        (*ADD, "--cron-expression", "@daily"),
        "unknown option '--cron-expression', did you mean '--cron'?",
    ),
    "an option by one of its words": (
        (*ADD, "--lateness", "5s"),
        "unknown option '--lateness', did you mean '--max-lateness'?",
    ),
    "an option by what documents call it": (
        (*ADD, "--tz", "UTC"),
        "unknown option '--tz', did you mean '--timezone'?",
    ),
    "an option by what others call it": (
        ("runs", "--count", "5"),
        "unknown option '--count', did you mean '--limit'?",
    ),
    "an argument as an option": (
        ("hint", "interval", "x", "--duration", "5s"),
        "unknown option '--duration': DURATION is positional, as in 'mainspring hint interval ENDPOINT DURATION'",
    ),
    "a name as an option": (
        ("why", "--name", "x"),
        "unknown option '--name': ENDPOINT is positional, as in 'mainspring why ENDPOINT'",
    ),
    "an option of all commands behind one": (
        ("endpoint", "list", "--server", "http://127.0.0.1"),
        "unknown option '--server' here: it goes before the command, as in 'mainspring --server ... endpoint list'",
    ),
    "an option of a command before it": (
        ("endpoint", "-o", "table", "list"),
        "unknown option '-o' here: it goes after the command, as in 'mainspring endpoint list -o ...'",
    ),
    "an option of a command before the group that it is in": (
        ("-o", "table", "endpoint", "list"),
        "unknown option '-o' here: it goes after the command, as in 'mainspring endpoint list -o ...'",
    ),
    "an option of another command before one that has it not": (
        ("--cron", "@daily", "endpoint", "list"),
        "unknown option '--cron' here: it goes after the command, as in 'mainspring backtest --cron ...'",
    ),
    "an option like none": ((*ADD, "--frobnicate"), "unknown option '--frobnicate'; --help lists all options"),
    "an option of all commands with a typo": (
        ("--sever", "http://127.0.0.1", "job", "list"),
        "unknown option '--sever', did you mean '--server'?",
    ),
    "a command with a typo": (("endpont", "list"), "unknown command 'endpont', did you mean 'endpoint'?"),
    "a command like none": (
        ("endpoint", "frobnicate"),
        "unknown command 'frobnicate'; --help lists all commands",
    ),
    "a command that an option means elsewhere": (
        ("plan",),
        "unknown command 'plan', did you mean 'planner'?",
    ),
    "no file": (("apply",), "FILE is missing; it is: YAML documents; a folder is all of its documents, - is stdin."),
    "no target": (("move",), "--to is missing; it is: The database to move to: empty, or of this move."),
    "letters for a number": (("runs", "-n", "abc"), "--limit 'abc' is not a whole number; write it in digits"),
    "a number beyond the bounds": (
        ("serve", "--port", "99999"),
        "--port '99999' is above the maximum; give 65535 or less",
    ),
    "an unknown format": (("job", "list", "-o", "yaml"), "--output 'yaml' is not one of table, json; choose one"),
}


@pytest.mark.parametrize("case", CASES)
def test_usage_is_answered_in_our_words(shell: Shell, case: str) -> None:
    arguments, message = CASES[case]

    result = shell(*arguments)

    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"Error: {message}"


@pytest.mark.parametrize(
    "arguments",
    [
        ("endpoint", "list", "-o", "json", "--frobnicate"),
        ("endpoint", "lst", "--output", "json"),
        ("endpont", "list", "--output=json"),
        ("runs", "-n", "abc", "-ojson"),
        ("why", "-o", "json"),
    ],
)
def test_usage_is_answered_in_json_where_that_is_asked_for(shell: Shell, arguments: tuple[str, ...]) -> None:
    result = shell(*arguments)

    assert result.exit_code == 2
    error = json.loads(result.stderr)["error"]
    assert (error["code"], error["field"]) == ("usage", None)
    assert error["message"] in shell(*(each for each in arguments if "json" not in each and each[:2] != "-o")).stderr


def test_name_that_is_like_none_is_answered_with_what_lists_them(shell: Shell) -> None:
    assert shell.refused("why", "nothing", code=3) == ("no endpoint 'nothing'; `mainspring endpoint list` lists all")


def test_name_is_not_mistaken_for_what_an_option_of_that_name_means(shell: Shell) -> None:
    shell.add("body")

    assert "did you mean" not in shell.refused("why", "data", code=3)


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("simulate", "[SCENARIO]"),
        ("execution export", "{EXECUTION} [FILE]"),
        ("rules remove", "[ENDPOINT] [RULE]..."),
        ("apply", "{FILE}..."),
    ],
)
def test_usage_puts_an_argument_into_one_pair_of_brackets(shell: Shell, command: str, usage: str) -> None:
    assert shell.ok(*command.split(), "--help").splitlines()[0] == f"Usage: mainspring {command} [OPTIONS] {usage}"
