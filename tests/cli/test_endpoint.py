"""`mainspring endpoint ...`, on both databases where the database could make a difference."""

from datetime import datetime, timedelta
from pathlib import Path

from mainspring.domain.endpoint import SETTINGS
from tests.cli.shell import Shell

ENDPOINT_FIELDS = """
    id name job description runbook status kind target url method headers environment body timeout_ms body_cap
    redirects_max accept_codes condition connection cron interval_ms schedule timezone min_interval_ms max_interval_ms
    backoff jitter_ms spread misfire catch_up_max max_lateness_ms on_lost_worker advice managed_by version
    created_at updated_at paused_until pause_reason pause_author advice_may_resume parked_at parked_reason archived_at
    deferred_until failure_count not_before interval_hint one_shot_hint refused_advice next_run_at source
    run_requested_at running last_run_at last_status retry confirm once_at literal contains matches warn_days
    fail_days completes callback_timeout_ms except_calendar only_calendar shift
""".split()
OF_OTHER_KINDS = [field.name for field in SETTINGS if field.kinds and "http" not in field.kinds]
EVERY_OPTION = [
    *("--url", "https://example.com/report?day=1", "--method", "post", "--timeout", "2m", "--min-interval", "30s"),
    *("--max-interval", "2h", "--jitter", "5s", "--backoff", "monitor", "--job", "billing"),
    *("--description", "the report", "--runbook", "Call Ann.", "--misfire", "catch_up", "--catch-up-max", "3"),
    *("--max-lateness", "10m", "--on-lost-worker", "skip", "--body-cap", "2000", "--redirects-max", "2"),
    *("--no-spread", "--accept-codes", "200", "--accept-codes", "204,404"),
    *("--condition", "status_code == 200", "--body", '{"kind":"daily"}', "--header", "Accept: */*"),
    *("--secret-header", "X-Pass: hunter2-hunter2", "--confirm", "2 within 10s"),
    *("--retry-attempts", "4", "--retry-delay", "5m", "--retry-on", "timeout,5xx"),
]


def test_what_is_added_is_shown_as_it_was_given(any_shell: Shell) -> None:
    added = any_shell.json("endpoint", "add", "report", "--every", "1h", *EVERY_OPTION)
    shown = any_shell.json("endpoint", "show", "report")

    assert added == shown
    assert set(shown) == {*ENDPOINT_FIELDS, *OF_OTHER_KINDS}
    wanted = {
        "name": "report", "job": "billing", "description": "the report", "runbook": "Call Ann.", "status": "active",
        "url": "https://example.com/report?••••", "method": "POST", "body": '{"kind":"daily"}', "timeout_ms": 120_000,
        "interval_ms": 3_600_000, "cron": None, "timezone": "UTC", "min_interval_ms": 30_000,
        "max_interval_ms": 7_200_000, "jitter_ms": 5_000, "backoff": "monitor", "spread": False, "misfire": "catch_up",
        "catch_up_max": 3, "max_lateness_ms": 600_000, "on_lost_worker": "skip", "body_cap": 2_000, "redirects_max": 2,
        "accept_codes": [200, 204, 404], "condition": "status_code == 200", "version": 1, "source": "baseline-interval",
        "confirm": "2 within 10s",
        "retry": {
            "attempts": 4, "delay_ms": 300_000, "factor": 2, "max_delay_ms": 3_600_000, "on": ["timeout", "5xx"],
        },
    }  # fmt: skip
    assert {name: shown[name] for name in wanted} == wanted


def test_secret_header_is_never_shown_nor_stored_in_plain(shell: Shell) -> None:
    shell.add(
        "report", "--secret-header", "X-Pass: hunter2-hunter2", "--header", "Authorization: Bearer hunter2-hunter2"
    )

    said = shell.ok("endpoint", "show", "report") + shell.ok("endpoint", "show", "report", "-o", "json")
    said += shell.ok("events", "-o", "json") + shell.ok("endpoint", "list", "-o", "json")

    assert "hunter2" not in said
    assert "X-Pass: ••••" in said
    assert "Authorization: ••••" in said, "a header whose name speaks of a secret is one"
    data = Path(str(shell.env["MAINSPRING_DATA_DIR"]))
    assert all(b"hunter2" not in file.read_bytes() for file in data.iterdir())


def test_cron_in_a_zone_is_planned_in_that_zone(any_shell: Shell) -> None:
    added = any_shell.add("nightly", "--cron", "30 2 * * *", "--timezone", "Asia/Kolkata")

    assert (added["cron"], added["timezone"], added["source"]) == ("30 2 * * *", "Asia/Kolkata", "baseline-cron")
    assert added["next_run_at"].endswith("T21:00:00Z")


def test_edit_changes_only_what_is_given(any_shell: Shell) -> None:
    before = any_shell.json("endpoint", "add", "report", "--every", "1h", *EVERY_OPTION)
    after = any_shell.json("endpoint", "edit", "report", "--timeout", "10s", "--header", "X-New: 1")

    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"timeout_ms", "headers", "version", "updated_at"}
    assert [header["name"] for header in after["headers"]] == ["Accept", "X-Pass", "X-New"]


def test_edit_switches_between_interval_and_cron(any_shell: Shell) -> None:
    any_shell.add("report", "--every", "1h")

    by_cron = any_shell.json("endpoint", "edit", "report", "--cron", "@daily")
    by_interval = any_shell.json("endpoint", "edit", "report", "--every", "5m")

    assert (by_cron["cron"], by_cron["interval_ms"]) == ("@daily", None)
    assert (by_interval["cron"], by_interval["interval_ms"]) == (None, 300_000)


def test_edit_takes_things_away(any_shell: Shell) -> None:
    any_shell.json("endpoint", "add", "report", "--every", "1h", *EVERY_OPTION)
    bare = any_shell.json(
        "endpoint", "edit", "report", "--min-interval", "0", "--max-interval", "0", "--max-lateness", "none",
        "--no-body",
        "--condition", "", "--accept-codes", "2xx", "--remove-header", "x-pass", "--spread", "--description", "",
        "--jitter", "0",
    )  # fmt: skip

    taken = ("min_interval_ms", "max_interval_ms", "max_lateness_ms", "body", "condition")
    assert [bare[name] for name in taken] == [None] * 5
    assert (bare["accept_codes"], bare["spread"], bare["description"], bare["jitter_ms"]) == ([], True, "", 0)
    assert [header["name"] for header in bare["headers"]] == ["Accept"]


def test_edit_renames_and_moves_to_another_job(any_shell: Shell) -> None:
    any_shell.add("report")
    renamed = any_shell.json("endpoint", "edit", "report", "--name", "account", "--job", "billing")

    assert (renamed["name"], renamed["job"]) == ("account", "billing")
    assert "no endpoint 'report'" in any_shell.refused("endpoint", "show", "report", code=3)


def test_edit_that_says_nothing_new_changes_nothing(shell: Shell) -> None:
    shell.add("report")

    assert (
        shell.ok("endpoint", "edit", "report", "--every", "1m")
        == "'report' already has these settings; nothing changed\n"
    )


def test_list_is_in_the_order_of_names_and_knows_jobs(any_shell: Shell) -> None:
    for name, job in (("b", "two"), ("a", "one"), ("c", "one")):
        any_shell.add(name, "--job", job)

    assert [each["name"] for each in any_shell.json("endpoint", "list")] == ["a", "b", "c"]
    assert [each["name"] for each in any_shell.json("endpoint", "list", "--job", "one")] == ["a", "c"]
    assert [each["name"] for each in any_shell.json("endpoint", "list", "-n", "2")] == ["a", "b"]


def test_pause_for_a_while_and_resume(any_shell: Shell) -> None:
    any_shell.add("report")
    paused = any_shell.json("endpoint", "pause", "report", "--duration", "1h", "--reason", "maintenance")
    resumed = any_shell.json("endpoint", "resume", "report")

    length = datetime.fromisoformat(paused["paused_until"]) - datetime.fromisoformat(paused["created_at"])
    assert timedelta(hours=1) < length < timedelta(hours=1, minutes=1)
    assert (paused["status"], paused["pause_reason"], paused["source"]) == ("paused", "maintenance", "paused")
    assert paused["next_run_at"] == paused["paused_until"]
    assert (resumed["status"], resumed["paused_until"]) == ("active", None)


def test_pause_until_an_instant_with_an_offset(any_shell: Shell) -> None:
    any_shell.add("report")
    paused = any_shell.json("endpoint", "pause", "report", "--until", "2099-01-01T01:00:00+01:00")

    assert paused["paused_until"] == "2099-01-01T00:00:00Z"


def test_pause_without_an_end_lasts_until_resumed(shell: Shell) -> None:
    shell.add("report")

    assert shell.ok("endpoint", "pause", "report") == "paused 'report' until it is resumed\n"
    assert shell.json("endpoint", "show", "report")["status"] == "paused"
    assert shell.ok("endpoint", "resume", "report").startswith("resumed 'report'; next run ")
    assert "was neither paused nor parked" in shell.ok("endpoint", "resume", "report")


def test_run_is_queued_once_however_often_it_is_asked_for(any_shell: Shell) -> None:
    any_shell.add("report")
    first = any_shell.json("endpoint", "run", "report")
    second = any_shell.json("endpoint", "run", "report")

    assert first["run_requested_at"] is not None
    assert first["run_requested_at"] == second["run_requested_at"]


def test_archived_endpoint_frees_its_name_and_is_found_by_id(any_shell: Shell) -> None:
    old = any_shell.add("report")
    archived = any_shell.json("endpoint", "archive", "report")
    new = any_shell.add("report")

    assert (archived["status"], archived["next_run_at"]) == ("archived", None)
    assert new["id"] != old["id"]
    assert any_shell.json("endpoint", "show", old["id"])["status"] == "archived"
    assert [each["id"] for each in any_shell.json("endpoint", "list", "--archived")] == [old["id"]]
    assert "is archived" in any_shell.refused("endpoint", "run", old["id"], code=4)


def test_delete_asks_first_and_leaves_nothing(any_shell: Shell) -> None:
    any_shell.add("report")

    assert any_shell("endpoint", "delete", "report", stdin="n\n").exit_code == 1
    assert any_shell("endpoint", "delete", "report").exit_code == 1, "nobody there to answer is no"
    assert any_shell.json("endpoint", "show", "report")["name"] == "report"
    assert any_shell("endpoint", "delete", "report", stdin="y\n").exit_code == 0
    assert "no endpoint 'report'" in any_shell.refused("endpoint", "show", "report", code=3)


def test_delete_with_yes_does_not_ask(any_shell: Shell) -> None:
    added = any_shell.add("report")

    answer = any_shell.json("endpoint", "delete", "report", "--yes")

    assert answer == {"id": added["id"], "name": "report", "deleted": True}


def test_reset_answers_with_the_endpoint(any_shell: Shell) -> None:
    any_shell.add("report")

    assert any_shell.json("endpoint", "reset", "report")["failure_count"] == 0


def test_newcomer_is_told_what_is_missing(shell: Shell) -> None:
    said = shell("endpoint", "add", "local", "--url", "http://127.0.0.1:8000/", "--every", "30s").stderr

    assert "127.0.0.1 is loopback (127.0.0.0/8), so every call is blocked unless `mainspring serve` was started" in said
    assert "MAINSPRING_ALLOW_CIDRS" in said
    assert "no scheduler is running, so nothing runs; start one with `mainspring serve`" in said


def test_body_that_the_method_does_not_send_is_noted(shell: Shell) -> None:
    add = ("endpoint", "add", "--url", "https://example.com/", "--every", "30s", "--body", "{}")

    assert "GET sends no body, so the given body is not used; --method POST sends it" in shell(*add, "one").stderr
    assert "sends no body" not in shell(*add, "two", "--method", "POST").stderr


def test_allowed_network_needs_no_note(shell: Shell) -> None:
    add = ("endpoint", "add", "local", "--url", "http://127.0.0.1:8000/", "--every", "30s")

    assert "blocked" not in shell(*add, MAINSPRING_ALLOW_CIDRS="127.0.0.0/8").stderr


def test_show_tells_a_person_everything(shell: Shell) -> None:
    options = [*EVERY_OPTION, "--max-interval", "3d"]
    shell.json("endpoint", "add", "report", "--cron", "0 6 * * mon-fri", "--timezone", "Europe/Berlin", *options)

    lines = dict(line.split("  ", 1) for line in shell.ok("endpoint", "show", "report").splitlines())

    said = {name.strip(): value.strip() for name, value in lines.items()}
    assert said["schedule"] == "0 6 * * mon-fri Europe/Berlin (At 06:00, Monday through Friday)"
    assert said["calls"] == "POST https://example.com/report?••••"
    assert said["misfire"] == "catch_up, at most 3, at most 10m late"
    assert said["success"] == "200, 204, 404 and status_code == 200"
    assert said["min interval"] == "30s"


def test_name_of_an_archived_endpoint_is_answered_with_its_id(any_shell: Shell) -> None:
    endpoint = any_shell.add("health")
    any_shell.add("health-2")
    any_shell.ok("endpoint", "archive", "health")

    said = any_shell.refused("endpoint", "show", "health", code=3)

    assert said.startswith(f"no endpoint 'health'; an archived endpoint had this name; its id is {endpoint['id']}")
    assert any_shell.json("endpoint", "show", endpoint["id"])["name"] == "health"


def test_owner_says_what_advice_may_do(shell: Shell) -> None:
    every = shell.json("endpoint", "add", "free", "--url", "https://example.com/", "--every", "1m")
    some = shell.json("endpoint", "edit", "free", "--advice", "run,interval")
    none = shell.json("endpoint", "edit", "free", "--advice", "none")

    assert every["advice"] == ["interval", "run", "wake", "pause", "siblings"]
    assert (some["advice"], none["advice"]) == (["interval", "run"], [])
    assert "advice may" in shell.ok("endpoint", "show", "free")
    assert "unknown advice 'sleep'" in shell.refused("endpoint", "edit", "free", "--advice", "sleep")


def test_part_of_a_retry_is_edited_and_one_attempt_removes_it(any_shell: Shell) -> None:
    any_shell.add("report", "--retry-attempts", "4", "--retry-delay", "5m")
    edited = any_shell.json("endpoint", "edit", "report", "--retry-delay", "10m")
    shown = any_shell("endpoint", "show", "report").output
    removed = any_shell.json("endpoint", "edit", "report", "--retry-attempts", "1")

    assert (edited["retry"]["attempts"], edited["retry"]["delay_ms"]) == (4, 600_000)
    assert "10m" in next(line for line in shown.splitlines() if line.startswith("retry delay"))
    assert removed["retry"] is None


def test_endpoint_with_a_single_run_is_added_shown_and_explained(any_shell: Shell) -> None:
    added = any_shell.json("endpoint", "add", "gift", "--url", "https://example.com/", "--at", "2999-12-24T18:00:00Z")
    shown = any_shell("endpoint", "show", "gift").output
    upcoming = any_shell.json("next", "gift")

    assert (added["once_at"], added["interval_ms"], added["source"]) == ("2999-12-24T18:00:00Z", None, "once")
    assert "once at 2999-12-24 18:00:00 UTC" in shown
    assert [each["at"] if "at" in each else each["next_run_at"] for each in upcoming] == ["2999-12-24T18:00:00Z"]


def test_dry_run_of_a_test_shows_the_texts_with_templates(any_shell: Shell) -> None:
    any_shell.json("endpoint", "add", "it", "--every", "1h", "--url", "https://example.com/{{ endpoint.name }}?t=4711")
    told = any_shell.json("endpoint", "test", "it", "--dry-run")

    assert told["templates"]["texts"] == [{"name": "url", "text": "https://example.com/it?t=••••"}]
    assert any_shell.json("runs", "it") == []
