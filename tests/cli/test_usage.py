"""A command line that makes no sense is answered in our words: what was given, the rule, and the way out. Exit 2."""

import pytest

from tests.cli.shell import Shell

ADD = ("endpoint", "add", "x", "--url", "https://example.com/")
CASES = {
    "a scope with a typo": (
        ("apikey", "create", "ci", "--scope", "reed"),
        "--scope 'reed' is none of read, run, write, admin, did you mean 'read'?",
    ),
    "an option as another door calls it": (
        (*ADD, "--interval", "5s"),
        "there is no option '--interval', did you mean '--every'?",
    ),
    "an option like none": ((*ADD, "--frobnicate"), "there is no option '--frobnicate'; --help lists those there are"),
    "an option of all commands with a typo": (
        ("--sever", "http://127.0.0.1", "job", "list"),
        "there is no option '--sever', did you mean '--server'?",
    ),
    "a command with a typo": (("endpont", "list"), "there is no command 'endpont', did you mean 'endpoint'?"),
    "a command like none": (
        ("endpoint", "frobnicate"),
        "there is no command 'frobnicate'; --help lists those there are",
    ),
    "no file": (("apply",), "FILE is missing; it is: YAML documents; a folder is all of its documents, - is stdin."),
    "no url": (("endpoint", "add", "x"), "--url is missing; it is: What to call: http:// or https://."),
    "letters for a number": (("runs", "-n", "abc"), "--limit 'abc' is not a whole number; write it in digits"),
    "a number beyond the bounds": (
        ("serve", "--port", "99999"),
        "--port '99999' is above the most that is allowed; give 65535 or less",
    ),
    "an unknown format": (("job", "list", "-o", "yaml"), "--output 'yaml' is none of table, json; choose one"),
}


@pytest.mark.parametrize("case", CASES)
def test_usage_is_answered_in_our_words(shell: Shell, case: str) -> None:
    arguments, message = CASES[case]

    result = shell(*arguments)

    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"Error: {message}"


def test_name_that_is_like_none_is_answered_with_what_lists_them(shell: Shell) -> None:
    assert shell.refused("why", "nothing", code=3) == (
        "no endpoint 'nothing'; `mainspring endpoint list` lists those there are"
    )
