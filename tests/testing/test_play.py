"""`mainspring.testing` plays documents through the production workers, without network and without waiting."""

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import mainspring.testing as public
from mainspring.documents.faults import InvalidDocument
from mainspring.testing import Answer, Play, ScriptedModel, TargetCall, ToolStep

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PAGE = EXAMPLES.parent / "testing.md"
PUBLIC = ["Answer", "ModelScript", "Play", "ScriptedModel", "SentMessage", "TargetCall", "ToolStep"]
SHOP = "endpoints: {shop: {url: 'https://shop.example.com/', every: 1m, spread: false}}"


def test_public_names_are_listed_once() -> None:
    assert public.__all__ == PUBLIC
    assert all(hasattr(public, name) for name in public.__all__)


def test_example_of_the_docs_runs_as_a_user_runs_it(tmp_path: Path) -> None:
    done = run_pytest(EXAMPLES / "testing", tmp_path)

    assert "9 passed" in done.stdout, done.stdout + done.stderr


def test_page_of_the_docs_runs_as_it_is_written(tmp_path: Path) -> None:
    conftest, test, model = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_shop.py").write_text(test)
    (tmp_path / "test_model.py").write_text(model)
    done = run_pytest(tmp_path, tmp_path)

    assert "1 passed" in done.stdout, done.stdout + done.stderr


def run_pytest(folder: Path, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    """Plain pytest, without the settings of this project."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(tmp_path / "pytest.ini")]
    return subprocess.run([*command, str(folder)], capture_output=True, text=True, timeout=120, check=False)


def test_import_needs_no_pytest() -> None:
    code = "import sys; sys.modules['pytest'] = None; import mainspring.testing as t; t.Play().close()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr


def test_nothing_runs_before_time_passes() -> None:
    with Play(SHOP) as play:
        assert play.runs("shop") == []
        play.advance("0s")
        assert play.statuses("shop") == ["success"]


def test_clock_moves_by_hand_and_runs_are_on_their_slots() -> None:
    noon = datetime(2031, 6, 1, 12, tzinfo=UTC)
    with Play(SHOP, starts_at=noon) as play:
        play.advance(timedelta(minutes=1))
        play.advance_to(noon + timedelta(minutes=3))

        assert play.now == noon + timedelta(minutes=3)
        assert [run.slot_at for run in play.runs("shop")] == [noon + timedelta(minutes=each) for each in range(4)]


def test_replies_are_given_in_order_and_the_last_is_repeated() -> None:
    with Play(SHOP) as play:
        play.answer("shop", Answer(500), Answer(body="fine"))
        play.advance("4m")

        assert [run.status_code for run in play.runs("shop")] == [500, 200, 200, 200]  # backoff doubles one interval


def test_function_replies_to_each_call() -> None:
    def every_second(call: TargetCall) -> Answer:
        return Answer(204 if call.at.minute % 2 else 503, headers={"Retry-After": "60"})

    with Play(SHOP.replace("spread: false", "spread: false, backoff: none")) as play:
        play.answer("https://shop", every_second)
        play.advance("3m")

        assert play.statuses("shop") == ["failure", "success", "failure", "success"]


def test_call_takes_simulated_time_and_ends_at_its_deadline() -> None:
    document = "endpoints: {slow: {url: 'https://slow.example.com/', every: 5m, spread: false, timeout: 30s}}"
    with Play(document) as play:
        play.answer("slow", Answer(takes="20s"), Answer(takes="2h"))
        play.advance("10m")

        assert [(run.status, run.duration_ms) for run in play.runs("slow")] == [
            ("success", 20_000),
            ("timeout", 30_000),
        ]


@pytest.mark.parametrize(
    ("entry", "reply", "expected"),
    [
        ("kind: tcp, host: db.example.com, port: 5432", Answer(error_code="connect"), ("failure", "connect")),
        ("kind: dns, host: example.com", Answer(body={"answers": ["192.0.2.1"]}), ("success", None)),
        ("kind: command, command: [/bin/backup]", Answer(3), ("failure", "exit_code")),
        ("kind: command, command: [/bin/backup], exit_codes: [3]", Answer(3), ("success", None)),
        ("url: 'https://a.example', accept_codes: [404]", Answer(404), ("success", None)),
        ("url: 'https://a.example', condition: 'body.ok'", Answer(body={"ok": False}), ("failure", "condition")),
    ],
)
def test_every_kind_is_scripted_and_judged_by_its_own_rules(
    entry: str, reply: Answer, expected: tuple[str, str | None]
) -> None:
    document = f"endpoints: {{it: {{{entry}, every: 1m, spread: false}}}}"
    with Play(document, commands="/bin/backup = default") as play:
        play.answer("it", reply)
        play.advance("0s")

        (run,) = play.runs("it")
        assert (run.status, run.error_code) == expected


def test_program_that_is_not_listed_is_refused_as_in_production() -> None:
    with pytest.raises(InvalidDocument, match="is not allowed"):
        Play("endpoints: {it: {kind: command, command: [/bin/backup], every: 1m}}")


def test_late_and_overlapping_pings_are_told_apart() -> None:
    document = "endpoints: {job: {kind: heartbeat, every: 10m, spread: false, grace: 1m, max_duration: 5m}}"
    with Play(document) as play:
        play.ping("job", "start")
        play.advance("2m")
        play.ping("job", "start")
        play.advance("5m")

        assert [run.error_code for run in play.runs("job")] == ["overlap", "still_running"]


def test_failing_ping_keeps_its_log() -> None:
    with Play("endpoints: {job: {kind: heartbeat, every: 10m, grace: 1m}}") as play:
        play.ping("job", exit_code=7, log="disk full")

        (run,) = play.runs("job")
        assert (run.status, run.status_code) == ("failure", 7)
        assert run.body is not None
        assert run.body.text == "disk full"


def test_scripted_model_advises_described_endpoints() -> None:
    model = ScriptedModel(
        lambda prompt: [ToolStep("propose_interval", {"interval_ms": 20_000, "ttl_minutes": 10, "reason": "busy"})]
    )
    document = SHOP.replace("spread: false", "spread: false, description: The shop.")
    with Play(document, model=model) as play:
        play.advance("1m")

        hint = play.endpoint("shop").interval_hint
        assert hint is not None
        assert (hint.interval_ms, hint.author) == (20_000, "model:scripted")
        assert "The shop." in model.prompts[0]


def test_run_starts_a_workflow_by_its_trigger_and_the_workflow_sends_email() -> None:
    document = f"""
{SHOP}
workflows:
  tell:
    on: [{{run: {{endpoint: shop, status: [failure]}}}}]
    steps:
      - {{id: mail, email: {{to: ops@example.com, subject: Shop, body: It failed.}}}}
      - {{id: done, end: told}}
"""
    with Play(document) as play:
        play.answer("shop", Answer(500), Answer())
        play.advance("2m")

        assert [(each.to, each.title) for each in play.messages] == [("ops@example.com", "Shop")]


def test_events_name_everything_that_happened() -> None:
    with Play(SHOP) as play:
        play.advance("0s")

        assert [each.event.type for each in play.events()][-2:] == ["run.started", "run.finished"]
        assert len(play.events("run.finished")) == 1


def test_references_are_resolved_from_the_given_environment() -> None:
    document = "endpoints: {a: {url: 'https://a.example', every: 1m, headers: {X-Token: '${env:TOKEN}'}}}"
    with pytest.raises(InvalidDocument, match="TOKEN is not set"):
        Play(document)
    with Play(document, environment={"TOKEN": "x"}) as play:
        assert play.endpoint("a").headers[0].secret


def test_upcoming_runs_are_those_of_the_preview() -> None:
    with Play(SHOP) as play:
        play.advance("1m")

        assert play.next_runs("shop", 2) == [play.now + timedelta(minutes=1), play.now + timedelta(minutes=2)]


def test_same_play_gives_the_same_events() -> None:
    def story() -> list[str]:
        with Play(SHOP) as play:
            play.answer("shop", Answer(500), Answer(takes="3s"))
            play.advance("1h")
            return [f"{each.event.at} {each.event.type} {each.event.run_id}" for each in play.events()]

    assert story() == story()


def test_kind_of_another_package_is_scripted_too(tmp_path: Path) -> None:
    code = (
        "from mainspring.testing import Play, Answer\n"
        'with Play("endpoints: {m: {kind: smtp, host: mail.example.com, every: 1m, spread: false, '
        "condition: 'body.code == 220'}}\") as play:\n"
        "    play.answer('m', Answer(body={'code': 220, 'greeting': 'hi'}), Answer(body={'code': 421}))\n"
        "    play.advance('1m')\n"
        "    print(play.statuses('m'))\n"
    )
    info = tmp_path / "mainspring_smtp-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mainspring-smtp\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mainspring.kinds]\nsmtp = mainspring_smtp:SmtpPlugin\n")
    with_example = {**os.environ, "PYTHONPATH": os.pathsep.join((str(EXAMPLES / "smtp_kind"), str(tmp_path)))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, env=with_example
    )

    assert done.stdout == "['success', 'failure']\n", done.stderr
