"""The shell completes commands and options."""

import pytest

from tests.cli.shell import Shell


@pytest.mark.parametrize(
    ("words", "place", "completed"),
    [
        ("mainspring endp", 1, "endpoint"),
        ("mainspring endpoint li", 2, "list"),
        ("mainspring endpoint list --st", 3, "--state"),
        ("mainspring --serv", 1, "--server"),
    ],
)
def test_words_are_completed(shell: Shell, words: str, place: int, completed: str) -> None:
    asked = {"_MAINSPRING_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}

    assert completed in shell(**asked).stdout.split()


@pytest.mark.parametrize("kind", ["bash", "zsh", "fish"])
def test_script_for_the_shell_is_shown(shell: Shell, kind: str) -> None:
    script = shell(_MAINSPRING_COMPLETE=f"source_{kind}").stdout

    assert "_MAINSPRING_COMPLETE" in script
    assert "mainspring" in script
