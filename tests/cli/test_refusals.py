"""Bad input is refused with what was wrong and what to do, exit 1, no traceback."""

import json

import pytest

from tests.cli.shell import Shell

ADD = ("endpoint", "add", "x", "--url", "https://example.com/")
EVERY = (*ADD, "--every", "30s")


def url(text: str) -> tuple[str, ...]:
    return ("endpoint", "add", "x", "--every", "30s", "--url", text)


REFUSED = {
    "no schedule": (ADD, "no schedule for"),
    "both schedules": ((*EVERY, "--cron", "@daily"), "an interval and a cron expression"),
    "interval without a unit": (
        (*ADD, "--every", "30"),
        "every '30' is below the minimum 100ms; give 100ms or more; a bare number is milliseconds, seconds are 30s",
    ),
    "interval 0": ((*ADD, "--every", "0"), "every '0' is below the minimum 100ms; give 100ms or more"),
    "interval -1": ((*ADD, "--every", "-1"), "every '-1' is negative"),
    "interval NaN": ((*ADD, "--every", "NaN"), "every 'NaN' is not a duration; units are"),
    "interval 1e30": ((*ADD, "--every", "1e30"), "every '1e30' is not a duration"),
    "interval of a thousand years": ((*ADD, "--every", "365000d"), "is above the maximum 366d; give 366d or less"),
    "empty interval": ((*ADD, "--every", ""), "every '' is empty"),
    "cron of 30 February": ((*ADD, "--cron", "0 0 30 2 *"), "cron '0 0 30 2 *' never fires"),
    "cron with a bad field": ((*ADD, "--cron", "61 * * * *"), "has a bad minute field: 61 is out of range"),
    "cron with 4 fields": ((*ADD, "--cron", "* * * *"), "has 4 fields; write 5"),
    "unknown zone": ((*ADD, "--cron", "@daily", "--timezone", "Europe/Berln"), "did you mean 'Europe/Berlin'?"),
    "zone of an interval": (
        (*EVERY, "--timezone", "Europe/Berlin"),
        "--timezone 'Europe/Berlin' has no effect on an interval: a time zone belongs to a cron expression",
    ),
    "reference in a URL": (url("https://example.com/${env:TOKEN}"), "references are read in documents and in headers"),
    "reference in a body": ((*EVERY, "--body", "${file:/etc/x}"), 'let the shell insert the value, as in "$NAME"'),
    "reference to nothing": (
        (*EVERY, "--header", "X-A: ${env:NOT_SET_ANYWHERE}"),
        "--header: the environment variable NOT_SET_ANYWHERE is not set",
    ),
    "body of a missing file": ((*EVERY, "--body", "@/nowhere/x"), "--body '@/nowhere/x' names a file that cannot be"),
    "min above max": (
        (*EVERY, "--min-interval", "20s", "--max-interval", "10s"),
        "min_interval 20s is above max_interval 10s",
    ),
    "interval below its min": ((*EVERY, "--min-interval", "1m"), "interval 30s for 'x' is below its min_interval 1m"),
    "timeout of an hour": ((*EVERY, "--timeout", "1h"), "timeout '1h' is above the maximum 10m; give 10m or less"),
    "jitter beyond half": ((*EVERY, "--jitter", "20s"), "jitter 20000 ms is out of bounds; give 0 to 15s"),
    "unknown method": ((*EVERY, "--method", "FETCH"), "unknown method 'FETCH'"),
    "unknown backoff": ((*EVERY, "--backoff", "monitr"), "unknown backoff 'monitr', did you mean 'monitor'?"),
    "unknown misfire": ((*EVERY, "--misfire", "later"), "unknown misfire 'later'"),
    "unknown lost worker policy": ((*EVERY, "--on-lost-worker", "cry"), "choose one of retry, skip"),
    "six redirects": ((*EVERY, "--redirects-max", "6"), "redirects_max 6 is out of bounds; give 0 to 5"),
    "catch-up of none": ((*EVERY, "--catch-up-max", "0"), "catch_up_max 0 is out of bounds"),
    "body cap of 1 GB": ((*EVERY, "--body-cap", "1000000000"), "body_cap 1000000000 is out of bounds"),
    "code that is none": ((*EVERY, "--accept-codes", "20"), "--accept-codes '20' is not a status code"),
    "condition that does not compile": ((*EVERY, "--condition", "status_code =="), "does not compile at line 1"),
    "header without a colon": ((*EVERY, "--header", "nocolon"), "--header 'nocolon' has no colon"),
    "secret header without a colon": ((*EVERY, "--secret-header", "hunter2"), "--secret-header has no colon"),
    "header that ends its line": ((*EVERY, "--header", "A: b\r\nC: d"), "header 'A' has a value with a line break"),
    "header that frames the message": ((*EVERY, "--header", "Content-Length: 5"), "frames the message"),
    "header of our own": ((*EVERY, "--header", "Webhook-Id: 5"), "which are reserved"),
    "empty name": (("endpoint", "add", "", *EVERY[3:]), "endpoint name '' is empty"),
    "name with an escape": (("endpoint", "add", "a\x1b[31m", *EVERY[3:]), "contains a control character (U+001B)"),
    "name that reads backwards": (("endpoint", "add", "a\u202eb", *EVERY[3:]), "contains a text direction control"),
    "description with an escape": ((*EVERY, "--description", "a\x1bb"), "description contains a control character"),
    "url of a file": (url("file:///etc/passwd"), "is not http or https"),
    "url of ftp": (url("ftp://example.com/"), "is not http or https"),
    "url of nothing": (url(""), "is not http or https"),
    "url without a host": (url("http://"), "has no host"),
    "url with a password": (url("http://user:hunter2@example.com/"), "carries a user name or password"),
    "url with a space": (url("http://exam ple.com/"), "spaces, control characters and backslashes are refused"),
    "url with an escape": (url("http://example.com/\x1b[31m"), "contains '\\x1b'"),
    "url with a bad port": (url("http://example.com:99999/"), "a port is a number from 1 to 65535"),
    "url of another service": (url("http://example.com:6379/"), "belongs to another service"),
    "url of a metadata name": (url("http://metadata.google.internal/"), "names a cloud metadata server"),
    "url of a metadata address": (url("http://169.254.169.254/"), "is never called: 169.254.169.254 is a metadata"),
    "url of a wrapped metadata address": (url("http://[::ffff:169.254.169.254]/"), "is never called"),
    "url of an odd loopback": (url("http://127.1/"), "an IPv4 address is four decimal numbers"),
    "url with a zone": (url("http://[fe80::1%25eth0]/"), "zones are not allowed"),
}  # fmt: skip
REFUSED_OF_HEALTH = {
    "pause until nonsense": (("endpoint", "pause", "health", "--until", "noon"), "until 'noon' is not a timestamp"),
    "pause until the past": (("endpoint", "pause", "health", "--until", "2020-01-01T00:00:00Z"), "give a later"),
    "pause for nothing": (("endpoint", "pause", "health", "--duration", "0"), "duration '0' is below the minimum"),
    "pause both ways": (
        ("endpoint", "pause", "health", "--duration", "1h", "--until", "2099-01-01T00:00:00Z"),
        "--until and --duration exclude each other; give one of them",
    ),
    "pause with an escape": (("endpoint", "pause", "health", "--reason", "\x1b]0;x"), "reason contains a control"),
    "add without a url": (
        ("endpoint", "add", "x", "--every", "1m"),
        "no url for 'x'; an endpoint of kind http needs one: give url",
    ),
    "edit to both schedules": (
        ("endpoint", "edit", "health", "--every", "1m", "--cron", "@daily"),
        "an interval and a cron",
    ),
    "edit to a bad url": (("endpoint", "edit", "health", "--url", "gopher://x/"), "is not http or https"),
    "edit to metadata": (("endpoint", "edit", "health", "--url", "http://169.254.169.254/"), "is never called"),
    "hint of a millisecond": (("hint", "interval", "health", "1ms"), "every '1ms' is below the minimum 1s"),
    "hint of two days": (("hint", "interval", "health", "30s", "--ttl", "48h"), "ttl '48h' is above the maximum 1d"),
    "one-shot without an instant": (("hint", "oneshot", "health"), "needs a time; give --at"),
    "one-shot both ways": (
        ("hint", "oneshot", "health", "--after", "5s", "--at", "2099-01-01T00:00:00Z"),
        "--at and --after exclude each other",
    ),
    "one-shot beyond its life": (("hint", "oneshot", "health", "--after", "2h"), "is later than its own expiry"),
    "one-shot at nonsense": (("hint", "oneshot", "health", "--at", "noon"), "at 'noon' is not a timestamp"),
    "unknown assumption": (("next", "health", "--if", "fails=3"), "did you mean 'failures'? write --if failures=3"),
    "assumption of less than none": (("next", "health", "--if", "failures=-1"), "is not a count"),
    "unknown status": (("runs", "--status", "fail"), "did you mean 'failed'? choose one of running, success"),
    "quota of less than none": (("tenant", "set", "--runs-per-month", "-5"), "is not a quota"),
    "no quota": (("tenant", "set"), "no quota was given; name one"),
    "job without a name": (("job", "add", " "), "job name ' ' consists of spaces"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_endpoint_is_not_added_with(shell: Shell, case: str) -> None:
    arguments, wanted = REFUSED[case]

    message = shell.refused(*arguments)

    assert wanted in message
    assert "hunter2" not in message
    assert shell.json("endpoint", "list") == []


@pytest.mark.parametrize("case", REFUSED_OF_HEALTH)
def test_command_is_refused_with(shell: Shell, case: str) -> None:
    before = shell.add("health")
    arguments, wanted = REFUSED_OF_HEALTH[case]

    assert wanted in shell.refused(*arguments)
    assert shell.json("endpoint", "show", "health") == before


def test_refusal_in_json_names_the_code_and_the_field(shell: Shell) -> None:
    result = shell(*ADD, "--every", "0", "-o", "json")

    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(result.stderr) == {
        "error": {
            "code": "invalid-input",
            "message": "every '0' is below the minimum 100ms; give 100ms or more",
            "field": "every",
        }
    }


def test_quota_is_refused_with_1(shell: Shell) -> None:
    shell.ok("tenant", "set", "--endpoints-max", "0", "--interval-min", "1m")

    assert "is below the tenant's minimum 1m" in shell.refused(*EVERY)
    assert "quota endpoints_max" in shell.refused(*ADD, "--every", "5m")
