"""`mainspring backtest`, as a stranger would type it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mainspring.cli.backtest import show_backtest
from mainspring.domain.rules import backtest
from mainspring.domain.rules.backtest import Policy, back_test
from mainspring.domain.schedule.cron import CRON
from mainspring.views.backtest import Backtest
from tests.cli.shell import Shell
from tests.domain.test_backtest import MINUTELY, recorded

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


def test_limited_or_cut_result_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backtest, "RUNS_MAX", 100)
    whole = {"ep_1": (recorded(0), recorded(6))}
    endless = {"ep_1": (recorded(0), recorded(6_000))}
    quicker = replace(MINUTELY, interval_ms=1_000)

    for history, changed, is_limited in ((whole, MINUTELY, False), (whole, MINUTELY, True), (endless, quicker, False)):
        tested = back_test(history, Policy((MINUTELY,), ()), Policy((changed,), ()), CRON)
        show_backtest(Backtest.of(replace(tested, limit=2, is_limited=is_limited)))

    plain, limited, cut = capsys.readouterr().out.split("from 2025-01-01")[1:]
    assert "the newest 2 runs of each endpoint\n" in plain
    assert "older runs are left out, --limit reads more" in limited
    assert "a replay was ended at 60,000 runs" in cut
    assert "ended at" not in plain + limited
    assert "left out" not in plain + cut
