"""Commands that look: why, next, runs, run show, events, jobs, keys, tenant, doctor."""

import asyncio
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.cli.doctor import ERROR, OK, WARNING, file_system_of, skew
from mainspring.domain.schedule.clock_steps import ClockReport
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.ports.notifications import Intake
from mainspring.views.sentences import source_in_words
from mainspring.wiring.stores import open_stores
from mainspring.workers.alerts import pending
from tests.cli.shell import Shell
from tests.peers.journal import Journal
from tests.stores.databases import query
from tests.stores.world import START, an_endpoint

RUN_FIELDS = """
    id endpoint endpoint_id slot_at attempt trigger source status started_at finished_at duration_ms status_code error
    maintenance
""".split()


def test_why_is_told_in_sentences(shell: Shell) -> None:
    shell.add("health", "--every", "1h", "--no-spread")
    shell.ok("hint", "interval", "health", "30s", "--ttl", "10m", "--reason", "watching the deploy")
    shell.ok("hint", "oneshot", "health", "--after", "5m")

    first, *sentences = shell.ok("why", "health").splitlines()

    instant = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})? UTC"
    assert re.fullmatch(rf"'health' (runs next|was due) at {instant} \(.+\), set by .+\.", first)
    assert all(sentence.endswith((".", ":")) for sentence in sentences)
    assert "No scheduler is running, so nothing runs. Start one: mainspring serve." in sentences
    assert any("In force: interval hint, every 30s until" in sentence for sentence in sentences)
    assert any("by the command line: watching the deploy" in sentence for sentence in sentences)


def test_what_set_the_next_run_names_who_wrote_the_hint() -> None:
    hint = IntervalHint(30_000, START, "deep queue", "rule:busy")
    once = OneShotHint(START, START, "", "user:ann@example.com")

    assert source_in_words(an_endpoint(interval_hint=hint, source="ai-interval")) == "the interval hint of rule busy"
    assert source_in_words(an_endpoint(one_shot_hint=once, source="ai-oneshot")) == (
        "the one-shot hint of ann@example.com"
    )
    assert source_in_words(an_endpoint(interval_hint=hint)) == "the interval"


def test_why_in_json_is_the_decision_with_its_trail(any_shell: Shell) -> None:
    any_shell.add("health", "--every", "1h")
    any_shell.ok("hint", "interval", "health", "30s")
    any_shell.ok("endpoint", "pause", "health", "--duration", "1h", "--reason", "maintenance")

    answer = any_shell.json("why", "health")

    fields = "endpoint kind target status next_run_at source trail running waiting reasons sentences"
    assert list(answer) == fields.split()
    assert (answer["status"], answer["source"], answer["running"]) == ("paused", "paused", None)
    assert [(step["rule"], step["verdict"]) for step in answer["trail"]] == [
        ("baseline-interval", "lost"),
        ("ai-interval", "lost"),
        ("paused", "won"),
    ]
    assert answer["sentences"][0].endswith("because: maintenance.")


@pytest.mark.parametrize(
    ("acts", "sentence"),
    [
        ((("endpoint", "pause", "health"),), "'health' is paused until it is resumed."),
        ((("endpoint", "pause", "health"),), "only a person can resume it: mainspring endpoint resume 'health'."),
        ((("endpoint", "pause", "health", "--advice-may-resume"),), "rules, workflows and the model may resume it."),
        ((("job", "pause", "default"),), "its job is not active: mainspring job resume 'default'."),
        ((("endpoint", "run", "health"),), "and starts at once."),
    ],
)
def test_why_names_what_stops_it_and_the_way_out(
    shell: Shell, acts: tuple[tuple[str, ...], ...], sentence: str
) -> None:
    shell.add("health")
    for act in acts:
        shell.ok(*act)

    assert sentence in shell.ok("why", "health")


def test_next_lists_the_runs_to_come(any_shell: Shell) -> None:
    any_shell.add("nightly", "--cron", "30 2 * * *")

    decisions = any_shell.json("next", "nightly", "-n", "3")

    assert [list(decision) for decision in decisions] == [["next_run_at", "source", "trail"]] * 3
    assert all(decision["next_run_at"].endswith("T02:30:00Z") for decision in decisions)
    assert len({decision["next_run_at"] for decision in decisions}) == 3


def test_next_supposes_failures(any_shell: Shell) -> None:
    any_shell.add("health", "--every", "1m")

    whys = [each["trail"][0]["why"] for each in any_shell.json("next", "health", "-n", "3", "--if", "failures=3")]

    assert [re.sub(r"^every 1m, ", "", why) for why in whys] == [
        "times 8 after the last 3 runs failed",
        "times 16 after the last 4 runs failed",
        "times 32 after the last 5 runs failed",
    ]


def test_next_of_what_does_not_run_says_why_not(shell: Shell) -> None:
    added = shell.add("health")
    shell.ok("endpoint", "archive", "health")

    assert shell.json("next", added["id"]) == []
    assert "never runs again" in shell.ok("next", added["id"])


def test_test_run_is_recorded_and_changes_no_schedule(any_shell: Shell, tmp_path: Path) -> None:
    any_shell.env["MAINSPRING_ALLOW_CIDRS"] = "127.0.0.0/8"
    with Journal(tmp_path / "journal") as journal:
        before = any_shell.add("health", url=journal.url("/ok"))
        tested = any_shell.json("endpoint", "test", "health")

    assert (tested["status"], tested["trigger"], tested["status_code"]) == ("success", "test", 200)
    assert tested["body"]["text"] == '{"ok": true}'
    assert tested["address"] == "127.0.0.1"
    assert set(tested["phases"]) == {"dns_us", "connect_us", "tls_us", "first_byte_us", "total_us"}
    assert any_shell.json("endpoint", "show", "health") == before
    (run,) = any_shell.json("runs", "health")
    assert list(run) == RUN_FIELDS
    assert (run["id"], run["endpoint"], run["trigger"]) == (tested["id"], "health", "test")
    assert any_shell.json("run", "show", run["id"])["body"] == tested["body"]


def test_blocked_test_run_shows_the_verdict_and_fails(shell: Shell) -> None:
    shell.add("local", url="http://127.0.0.1:8009/")

    result = shell("endpoint", "test", "local")

    assert result.exit_code == 1
    assert re.search(r"address +blocked\n", result.stdout)
    assert "127.0.0.1 is loopback (127.0.0.0/8)" in result.stdout
    assert "networks the operator allows (MAINSPRING_ALLOW_CIDRS)" in result.stdout


@pytest.mark.parametrize(
    "path", ["/text/ansi", "/json/nul", "/text/invalid-utf8", "/json/surrogates", "/header/escape"]
)
def test_hostile_response_never_acts_on_the_terminal(shell: Shell, hostile_url: str, path: str) -> None:
    shell.env["MAINSPRING_ALLOW_CIDRS"] = "127.0.0.0/8"
    shell.add("evil", url=hostile_url + path)
    tested = shell("endpoint", "test", "evil")
    run_id = shell.json("runs", "evil")[0]["id"]

    said = tested.stdout + shell.ok("run", "show", run_id) + shell.ok("run", "show", run_id, "--body")
    said += shell.ok("run", "show", run_id, "-o", "json") + shell.ok("runs")
    assert re.sub("[\n\ufffd]", "", said).isprintable()


def test_raw_body_is_exactly_what_came(shell: Shell, hostile_url: str) -> None:
    shell.env["MAINSPRING_ALLOW_CIDRS"] = "127.0.0.0/8"
    shell.add("evil", url=hostile_url + "/text/ansi")
    shell("endpoint", "test", "evil")
    run_id = shell.json("runs", "evil")[0]["id"]

    assert b"\x1b" in shell("run", "show", run_id, "--raw").stdout_bytes
    assert "\x1b" not in shell.ok("run", "show", run_id, "--body")


def test_events_are_listed_in_order_with_names(any_shell: Shell) -> None:
    any_shell.add("health")
    any_shell.ok("endpoint", "pause", "health", "--duration", "1h")
    any_shell.ok("endpoint", "resume", "health")

    events = any_shell.json("events")

    assert [event["type"] for event in events] == [
        "job.created",
        "endpoint.created",
        "endpoint.paused",
        "schedule.updated",
        "endpoint.resumed",
        "schedule.updated",
    ]
    assert {event["endpoint"] for event in events[1:]} == {"health"}
    assert {event["actor"] for event in events} == {"cli"}
    assert any_shell.json("events", "-n", "2") == events[-2:]
    assert any_shell.json("events", "-n", "0") == []


def test_jobs_are_added_edited_paused_and_archived(any_shell: Shell) -> None:
    added = any_shell.json("job", "add", "billing", "--description", "money")
    assert list(added) == ["id", "name", "description", "status", "managed_by", "created_at", "updated_at"]
    edited = any_shell.json("job", "edit", "billing", "--name", "accounts")
    assert (edited["id"], edited["name"], edited["description"]) == (added["id"], "accounts", "money")
    any_shell.add("report", "--job", "accounts")

    assert any_shell.json("job", "pause", "accounts")["status"] == "paused"
    paused = any_shell.json("job", "show", "accounts")["endpoints"][0]
    assert (paused["status"], paused["next_run_at"]) == ("job-paused", None)
    assert any_shell.json("job", "resume", "accounts")["status"] == "active"
    assert any_shell.json("job", "archive", "accounts")["status"] == "archived"
    assert [each["status"] for each in any_shell.json("endpoint", "list", "--archived")] == ["archived"]
    assert [job["name"] for job in any_shell.json("job", "list")] == ["accounts"]


def test_signing_key_is_shown_once_and_ends_when_revoked(any_shell: Shell) -> None:
    created = any_shell.json("signing-key", "create")

    assert created["secret"].startswith("whsec_")
    listed = any_shell.ok("signing-key", "list", "-o", "json")
    assert [key["id"] for key in json.loads(listed)] == [created["id"]]
    assert created["secret"] not in listed
    assert any_shell.json("signing-key", "revoke", created["id"])["live_keys"] == 0
    assert any_shell.json("signing-key", "list") == []


def test_quotas_are_set_one_by_one_and_taken_away(any_shell: Shell) -> None:
    any_shell.ok("tenant", "set", "--runs-per-month", "1000", "--interval-min", "30s")
    set_one = any_shell.json("tenant", "set", "--endpoints-max", "5")
    taken = any_shell.json("tenant", "set", "--runs-per-month", "none", "--interval-min", "none")

    quotas = ("runs_per_month", "endpoints_max", "interval_ms_min")
    assert [set_one[name] for name in quotas] == [1_000, 5, 30_000]
    assert [taken[name] for name in quotas] == [None, 5, None]


def test_tenants_do_not_see_each_other(any_shell: Shell) -> None:
    any_shell.add("health")
    any_shell.ok("tenant", "create", "other")
    any_shell.env["MAINSPRING_TENANT"] = "other"

    assert any_shell.json("endpoint", "list") == []
    assert [event["type"] for event in any_shell.json("events")] == ["tenant.created"]
    assert "no endpoint 'health'" in any_shell.refused("why", "health", code=3)


def test_tenant_that_nobody_made_is_refused_and_not_made(any_shell: Shell) -> None:
    any_shell.ok("job", "add", "shop")
    any_shell.ok("tenant", "create", "acme")
    any_shell.env["MAINSPRING_TENANT"] = "acne"

    said = any_shell.refused("endpoint", "list", code=78)

    assert said.startswith("MAINSPRING_TENANT: no tenant 'acne', did you mean 'acme'? `mainspring tenant create acne` ")
    assert said in any_shell("doctor").stdout
    assert [each["id"] for each in any_shell.json("tenant", "list")] == ["acme", "default"]


def test_new_database_can_begin_with_a_tenant_that_was_made_for_it(any_shell: Shell) -> None:
    any_shell.env["MAINSPRING_TENANT"] = "acme"

    assert "no tenant 'acme'; `mainspring tenant create acme` creates it" in any_shell.refused("job", "list", code=78)
    any_shell.ok("tenant", "create", "acme")

    assert any_shell.json("tenant", "show")["id"] == "acme"
    assert "no tenant 'default'" in any_shell("job", "list", MAINSPRING_TENANT="default").stderr


def test_doctor_finds_nothing_wrong_with_a_new_installation(any_shell: Shell) -> None:
    findings = any_shell.json("doctor")

    levels = {finding["check"]: finding["level"] for finding in findings}
    assert levels.pop("schedulers") == WARNING
    assert set(levels.values()) == {OK}
    assert {"program", "time zones", "data folder", "database", "clock", "secret key"} <= levels.keys()
    assert all(finding["way_out"] for finding in findings if finding["level"] != OK)


def test_doctor_and_why_say_what_a_late_endpoint_waits_for(shell: Shell) -> None:
    shell.add("health", "--no-spread")
    shell.ok("endpoint", "run", "health")

    findings = json.loads(shell("doctor", "-o", "json", MAINSPRING_LATE_AFTER="1ms").stdout)
    said = shell.ok("why", "health")

    (waiting,) = [each for each in findings if each["check"] == "waiting"]
    assert waiting["message"].startswith("1 waits for a scheduler: none is running; the oldest was due ")
    assert waiting["way_out"] == "Start a scheduler: mainspring serve."
    assert "No scheduler is running, so nothing runs. Start one: mainspring serve." in said
    assert shell.json("why", "health")["waiting"]["cause"] == "scheduler"


def test_doctor_names_the_database_that_does_not_answer(tmp_path: Path) -> None:
    url = "postgresql://u:hunter2@127.0.0.1:1/x"
    result = Shell({"MAINSPRING_DATA_DIR": str(tmp_path), "MAINSPRING_DATABASE_URL": url})("doctor")

    assert result.exit_code == 1
    assert "error    database" in result.stdout
    assert "postgresql://u:••••@127.0.0.1:1/x: the database does not answer" in result.stdout
    assert "-> start it, or set MAINSPRING_DATABASE_URL to one that runs" in result.stdout
    assert "hunter2" not in result.stdout


def test_doctor_finds_the_key_that_is_gone_and_makes_no_new_one(shell: Shell) -> None:
    shell.add("health")
    key = Path(str(shell.env["MAINSPRING_DATA_DIR"])) / "secret.key"
    key.unlink()

    result = shell("doctor")

    assert result.exit_code == 1
    assert f"the key file {key} does not exist" in result.stdout
    assert not key.exists()


def test_doctor_finds_the_folder_that_cannot_be_used(shell: Shell) -> None:
    result = shell("doctor", MAINSPRING_DATA_DIR="/proc/self/nowhere")

    assert result.exit_code == 1
    assert "error    data" in result.stdout or "error    database" in result.stdout


@pytest.mark.parametrize(("seconds", "level"), [(0.1, OK), (-1.9, OK), (2.1, WARNING), (-29, WARNING), (31, ERROR)])
def test_doctor_judges_the_clock(seconds: float, level: str) -> None:
    assert skew(timedelta(seconds=seconds)).level == level


def test_network_file_system_is_recognised_by_the_nearest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\nproc /proc proc rw 0 0\n")

    assert file_system_of(tmp_path / "data", str(mounts)) == "nfs4"
    assert file_system_of(Path("/"), str(mounts)) == "ext4"
    assert file_system_of(tmp_path, str(tmp_path / "nowhere")) == ""


def test_migrate_says_what_it_did_and_that_nothing_was_left_to_do(shell: Shell) -> None:
    first = shell.json("migrate")
    second = shell.json("migrate")

    assert first["applied"][0] == "0001_initial"
    assert int(first["applied"][-1][:4]) == first["schema"]
    assert second == first | {"applied": []}
    assert "is up to date at schema" in shell.ok("migrate")


def test_migrate_of_an_empty_postgresql_says_what_it_did(tmp_path: Path, postgres_empty_url: str) -> None:
    shell = Shell({"MAINSPRING_DATA_DIR": str(tmp_path), "MAINSPRING_DATABASE_URL": postgres_empty_url})

    assert shell.json("migrate")["kind"] == "postgresql"
    assert shell.json("migrate")["applied"] == []


def test_doctor_looks_at_mail_webhooks_accounts_and_keys(shell: Shell) -> None:
    shell.ok("alert", "add", "ops", "--to", "ops@example.com")
    shell.ok("apikey", "create", "ci", "--expires", "2d")
    shell.ok("tenant", "create", "other")
    shell.ok("user", "add", "ann@example.com", MAINSPRING_TENANT="other")

    result = shell("doctor", "-o", "json")
    found = {each["check"]: each for each in json.loads(result.stdout)}

    assert result.exit_code == 1
    assert (found["mail"]["level"], found["API keys"]["level"], found["accounts"]["level"]) == (ERROR, WARNING, WARNING)
    assert found["mail"]["message"] == "1 alert (ops) is to be sent by email, and no mail server is configured"
    assert found["API keys"]["message"].startswith("1 key (ci) is about to expire, the first in ")
    assert found["accounts"]["message"] == "tenant 'default' has no owner who can log in"
    assert found["webhooks"]["message"] == "0 configured, none failing"
    assert found["workflows"]["level"] == OK
    assert found["retention"]["message"] == "retention: runs 30d, bodies 7d, events 30d, and 10,000 runs of an endpoint"
    unreachable = shell("doctor", MAINSPRING_SMTP_URL="smtp://127.0.0.1:9").stdout
    assert "the mail server 127.0.0.1:9 does not respond" in unreachable


def test_doctor_reports_steps_of_the_clock_and_workers_whose_clock_differs(any_shell: Shell) -> None:
    any_shell.ok("endpoint", "list")
    asyncio.run(report_clock(any_shell))

    findings = [each for each in json.loads(any_shell("doctor", "-o", "json").stdout) if each["check"] == "clock steps"]
    shown = any_shell.json("clock", "show")

    assert [each["level"] for each in findings] == [WARNING, ERROR]
    assert "1h back; 12 runs were planned again" in findings[0]["message"]
    assert "1 worker (worker-2 45s ahead) is more than 30 s" in findings[1]["message"]
    assert sorted(each["kind"] for each in shown["reports"]) == ["skew", "step"]
    assert any_shell.ok("clock", "repair") == "No workflow partition is stopped; nothing to repair.\n"


def test_stopped_workflow_partition_is_an_error_until_it_is_repaired(any_shell: Shell) -> None:
    any_shell.ok("endpoint", "list")
    asyncio.run(stop_partition(any_shell))

    found = [each for each in json.loads(any_shell("doctor", "-o", "json").stdout) if each["check"] == "clock steps"]
    shown = any_shell("clock", "show")
    repaired = any_shell.ok("clock", "repair")

    assert found[0]["level"] == ERROR
    assert found[0]["message"].startswith("1 workflow partition stopped until in 41d")
    assert found[0]["way_out"].endswith("let them continue: mainspring clock repair")
    assert "workflow partition 0 is stopped" in shown.stderr
    assert repaired.startswith("partition 0 continues from now; it was 41d")
    assert any_shell.json("clock", "show")["stopped"] == []


async def stop_partition(shell: Shell) -> None:
    """As if the clock had been 1,000 hours ahead, and the ticker had followed it."""
    async with open_stores(url_of(shell)) as stores:
        await stores.flows.workflows.clock(0, 1_000)
    await query(url_of(shell), "UPDATE workflow_partition SET tick = 3600000")


def test_doctor_reports_a_backlog_of_deliveries(any_shell: Shell) -> None:
    any_shell.ok("webhook", "add", "https://example.com/hook", "--name", "slow")
    asyncio.run(queue_deliveries(any_shell, 3))

    findings = {each["check"]: each for each in any_shell.json("doctor")}

    assert findings["deliveries"]["level"] == WARNING
    assert findings["deliveries"]["message"].startswith("3 messages overdue, the oldest due 2h")
    assert findings["deliveries"]["message"].endswith("most of them, 3, for 'slow'")


async def queue_deliveries(shell: Shell, count: int) -> None:
    async with open_stores(url_of(shell)) as stores:
        (webhook,) = await stores.subscriptions.subscriptions("default", None)
        at = await stores.clock.now() - timedelta(hours=2)
        made = [
            pending(f"msg_{number}", webhook, "", f"key {number}", "run.finished", "{}", at, at)
            for number in range(count)
        ]
        await stores.outbox.take_in(Intake(tuple(made)))


def url_of(shell: Shell) -> str:
    return shell.env.get("MAINSPRING_DATABASE_URL") or f"sqlite://{shell.env['MAINSPRING_DATA_DIR']}/mainspring.db"


async def report_clock(shell: Shell) -> None:
    async with open_stores(url_of(shell)) as stores:
        now = await stores.clock.now()
        await stores.clock.add_report(ClockReport("clk_1", now, "step", -3_600_000, "worker-1", 12))
        await stores.clock.add_report(ClockReport("clk_2", now, "skew", 45_000, "worker-2"))


def test_cron_that_its_maximum_contradicts_is_refused_and_an_older_one_is_explained_by_why(shell: Shell) -> None:
    given = ("endpoint", "add", "nightly", "--url", "https://example.com/", "--cron", "0 2 * * *")
    refused = shell(*given, "--max-interval", "1h")
    shell.ok(*given)
    edited = shell("endpoint", "edit", "nightly", "--max-interval", "1h")
    asyncio.run(contradict(shell))

    way_out = "raise max_interval, leave it out, or give an interval in place of the cron"
    for each in (refused, edited):
        assert each.exit_code != 0
        assert "are at least 1d apart, above max_interval 1h" in each.stderr
        assert way_out in each.stderr
    assert "so it would run every 1h instead of at those times" in shell.ok("why", "nightly")


async def contradict(shell: Shell) -> None:
    """As an endpoint of an earlier version."""
    await query(url_of(shell), "UPDATE endpoint SET max_interval_ms = 3600000")
