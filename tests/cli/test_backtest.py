"""`mainspring backtest`, as a stranger would type it."""

from pathlib import Path

from tests.cli.shell import Shell

RULES = "- {name: busy, when: body.depth > 10, interval: 30s, ttl: 2m}\n"


def test_nothing_recorded_and_nonsense_are_refused(shell: Shell, tmp_path: Path) -> None:
    shell.add("queue")
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)

    assert "nothing to replay" in shell.refused("backtest", "queue", "--file", str(file), code=4)
    assert "neither or both of endpoint and --job were given" in shell.refused("backtest")
    assert "exclude each other" in shell.refused("backtest", "queue", "-f", str(file), "--no-rules")
    assert "no endpoint 'queu'" in shell.refused("backtest", "queu", code=3)
    assert "is not a duration" in shell.refused("backtest", "queue", "--every", "soon")
    assert "below the minimum 100ms; give 100ms or more" in shell.refused("backtest", "queue", "--every", "0")
