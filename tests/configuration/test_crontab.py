"""A crontab becomes a document: calls are taken over whole, and everything else is told with its line and reason."""

import pytest

from mainspring.configuration.crontab import read_crontab


def one(line: str, **how: object) -> dict[str, object]:
    taken = read_crontab(line, **how)  # type: ignore[arg-type]  # options
    assert list(taken.endpoints.values()), taken.remarks
    return next(iter(taken.endpoints.values()))


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        pytest.param(
            "*/5 * * * * curl -fsS https://example.com/ping >/dev/null 2>&1",
            {"url": "https://example.com/ping", "cron": "*/5 * * * *"},
            id="curl that is silent",
        ),
        pytest.param("@daily wget -q -O /dev/null https://example.com/",
            {"url": "https://example.com/", "cron": "@daily", "redirects_max": 5}, id="wget follows"),
        pytest.param("0 3 * * 1-5 /usr/bin/curl -m 10 -L example.com/x",
            {"url": "http://example.com/x", "cron": "0 3 * * 1-5", "timeout": "10s", "redirects_max": 5}, id="bare"),
        pytest.param("0 3 * * * curl -X PUT -d a=1 -d b=2 -H 'Content-Type: text/plain' https://example.com/",
            {"url": "https://example.com/", "cron": "0 3 * * *", "method": "PUT",
             "headers": {"Content-Type": "text/plain"}, "body": "a=1&b=2"}, id="a body in two parts"),
        pytest.param(r"0 3 * * * curl -d @- https://example.com/\%20%line one%line two",
            {"url": "https://example.com/%20", "cron": "0 3 * * *", "method": "POST",
             "headers": {"Content-Type": "application/x-www-form-urlencoded"}, "body": "line one\nline two"},
            id="percent signs are standard input"),
        pytest.param("0 3 * * * timeout 30 curl https://example.com/",
            {"url": "https://example.com/", "cron": "0 3 * * *", "timeout": "30s"}, id="behind timeout"),
        pytest.param("HOST=example.org\nCRON_TZ=Europe/Berlin\n0 3 * * * curl https://$HOST/a",
            {"url": "https://example.org/a", "cron": "0 3 * * *", "timezone": "Europe/Berlin"}, id="settings"),
        pytest.param("0 3 * * * curl -G -d q=1 --url=https://example.com/",
            {"url": "https://example.com/?q=1", "cron": "0 3 * * *"}, id="data in the query"),
    ],
)  # fmt: skip
def test_line_is_taken_over(line: str, entry: dict[str, object]) -> None:
    assert one(line) == entry


def test_user_column_is_left_out() -> None:
    assert one("0 3 * * * root curl https://example.com/", has_users=True)["url"] == "https://example.com/"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("@reboot curl https://example.com/", "@reboot is no time"),
        ("0 3 * * * /usr/local/bin/backup --all", "'backup' is a command of this machine; Mainspring calls URLs"),
        ("0 3 * * * curl https://a.example && curl https://b.example", "it is more than one command"),
        ("0 3 * * * curl https://a.example | mail root", "it is more than one command"),
        ("0 3 * * * curl https://a.example https://b.example", "it calls more than one URL"),
        ("0 3 * * * curl -k https://a.example", "-k trusts any certificate; Mainspring checks them always"),
        ("0 3 * * * curl --cert x https://a.example", "its option --cert is not known here"),
        ("0 3 * * * curl https://a.example/$(date)", "it uses the output of another command"),
        ("0 3 * * * curl https://a.example/$DAY", "it uses $DAY, which the crontab does not set"),
        ("0 3 * * * curl -d @/etc/body https://a.example", "its body comes from the file '/etc/body'"),
        ("61 3 * * * curl https://a.example", "cron"),
        ("0 3 * * * curl ftp://a.example", "url"),
        ("0 3 * * * curl 'https://a.example", "its quotes do not match"),
        ("0 3 * *", "it has no five fields and a command"),
        ("0 3 * * * curl", "it names no URL"),
    ],
)
def test_line_that_is_not_taken_over_is_told_with_its_reason(line: str, reason: str) -> None:
    taken = read_crontab(f"# comment\n\n{line}\n")

    assert taken.endpoints == {}
    assert len(taken.remarks) == 1
    assert taken.remarks[0].startswith("line 3: not taken over: ")
    assert reason in taken.remarks[0]


def test_reference_is_a_name_that_a_shell_can_set() -> None:
    taken = read_crontab("0 3 * * * curl -H 'X-Token: k3y' http://127.0.0.1:8000/a")

    assert taken.secrets == {"_127_0_0_1_8000_A_X_TOKEN": "k3y"}


def test_secrets_become_references_and_are_kept_apart() -> None:
    taken = read_crontab("0 3 * * * curl -u me:hunter2 -H 'X-Api-Key: k3y' https://example.com/a")

    assert "hunter2" not in str(taken.endpoints)
    assert "k3y" not in f"{taken.endpoints} {taken.remarks}"
    assert taken.endpoints["example.com/a"]["headers"] == {
        "X-Api-Key": "${env:EXAMPLE_COM_A_X_API_KEY}",
        "Authorization": "${env:EXAMPLE_COM_A_AUTHORIZATION}",
    }
    assert taken.secrets["EXAMPLE_COM_A_AUTHORIZATION"] == "Basic bWU6aHVudGVyMg=="


def test_two_lines_with_one_url_get_two_names() -> None:
    taken = read_crontab("0 3 * * * curl https://example.com/\n0 4 * * * curl https://example.com/\n")

    assert list(taken.endpoints) == ["example.com", "example.com 2"]
