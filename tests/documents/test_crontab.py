"""A crontab becomes a document: calls are taken over whole, and everything else is told with its line and reason."""

from urllib.parse import quote

import pytest

from mainspring.documents.crontab import read_crontab


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
        pytest.param("API=https://a.example.com\n0 3 * * * curl $API/x",
            {"url": "https://a.example.com/x", "cron": "0 3 * * *"}, id="a variable that holds the scheme"),
        pytest.param("API=a.example.com\n0 3 * * * curl \"${API}/x\"",
            {"url": "http://a.example.com/x", "cron": "0 3 * * *"}, id="a variable in braces and quotes"),
        pytest.param("OPTIONS='-s -m 5'\n0 3 * * * curl $OPTIONS https://a.example.com/",
            {"url": "https://a.example.com/", "cron": "0 3 * * *", "timeout": "5s"}, id="a variable of several words"),
        pytest.param("0 3 * * * curl -d '{\"price\": \"$5\"}' https://a.example.com/",
            {"url": "https://a.example.com/", "cron": "0 3 * * *", "method": "POST", "body": '{"price": "$5"}',
             "headers": {"Content-Type": "application/x-www-form-urlencoded"}}, id="single quotes keep a dollar sign"),
        pytest.param("0 3 * * * wget -q --post-data 'a=1&b=2' https://a.example.com/",
            {"url": "https://a.example.com/", "cron": "0 3 * * *", "method": "POST", "body": "a=1&b=2",
             "redirects_max": 5, "headers": {"Content-Type": "application/x-www-form-urlencoded"}}, id="post data"),
        pytest.param("0 3 * * * wget --post-data='{}' --header 'Content-Type: application/json' https://a.example.com/",
            {"url": "https://a.example.com/", "cron": "0 3 * * *", "method": "POST", "body": "{}",
             "redirects_max": 5, "headers": {"Content-Type": "application/json"}}, id="post data with its own type"),
        pytest.param("0 3 * * * curl https://a.example.com/x#part # the shop's ping",
            {"url": "https://a.example.com/x#part", "cron": "0 3 * * *"}, id="a trailing comment"),
    ],
)  # fmt: skip
def test_line_is_taken_over(line: str, entry: dict[str, object]) -> None:
    assert one(line) == {"timezone": "UTC"} | entry


def test_user_column_is_left_out() -> None:
    assert one("0 3 * * * root curl https://example.com/", has_users=True)["url"] == "https://example.com/"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("@reboot curl https://example.com/", "@reboot is not a time"),
        ("0 3 * * * /usr/local/bin/backup --all", "'backup' is a local command; Mainspring calls URLs"),
        ("0 3 * * * curl https://a.example && curl https://b.example", "it is more than one command"),
        ("0 3 * * * curl https://a.example | mail root", "it is more than one command"),
        ("0 3 * * * curl https://a.example https://b.example", "it calls more than one URL"),
        ("0 3 * * * curl -k https://a.example", "-k trusts any certificate; Mainspring always checks them"),
        ("0 3 * * * curl --cert x https://a.example", "its option --cert is unknown"),
        ("0 3 * * * curl https://a.example/$(date)", "it uses the output of another command"),
        ("0 3 * * * curl https://a.example/$DAY", "it uses $DAY, which the crontab does not set"),
        ("0 3 * * * curl -d @/etc/body https://a.example", "its body comes from the file '/etc/body'"),
        ("61 3 * * * curl https://a.example", "cron"),
        ("0 3 * * * curl ftp://a.example", "url"),
        ("0 3 * * * curl 'https://a.example", "its quotes do not match"),
        ("0 3 * *", "it does not have five fields and a command"),
        ("0 3 * * * curl", "it has no URL"),
        ("0 3 * * * wget --post-file=/etc/body https://a.example", "its body comes from the file '/etc/body'"),
        ("0 3 * * * /bin/backup $(date) $HOME", "'backup' is a local command"),
    ],
)
def test_line_that_is_not_taken_over_is_told_with_its_reason(line: str, reason: str) -> None:
    taken = read_crontab(f"# comment\n\n{line}\n")

    assert taken.endpoints == {}
    assert len(taken.remarks) == 1
    assert taken.remarks[0].startswith("line 3: not converted: ")
    assert reason in taken.remarks[0]


def test_reference_is_a_name_that_a_shell_can_set() -> None:
    taken = read_crontab("0 3 * * * curl -H 'X-Token: k3y' http://127.0.0.1:8000/a")

    assert taken.secrets == {"_127_0_0_1_8000_A_X_TOKEN": "k3y"}


def test_secrets_become_references_and_are_kept_apart() -> None:
    taken = read_crontab("0 3 * * * curl -u me:hunter2 -H 'X-Api-Key: k3y' https://example.com/a")

    assert "hunter2" not in str(taken.endpoints)
    assert "k3y" not in f"{taken.endpoints} {taken.remarks}"
    assert taken.endpoints["example.com-a"]["headers"] == {
        "X-Api-Key": "${env:EXAMPLE_COM_A_X_API_KEY}",
        "Authorization": "${env:EXAMPLE_COM_A_AUTHORIZATION}",
    }
    assert taken.secrets["EXAMPLE_COM_A_AUTHORIZATION"] == "Basic bWU6aHVudGVyMg=="


def test_two_lines_with_one_url_get_two_names() -> None:
    taken = read_crontab("0 3 * * * curl https://example.com/\n0 4 * * * curl https://example.com/\n")

    assert list(taken.endpoints) == ["example.com", "example.com-2"]


@pytest.mark.parametrize(
    "url",
    ["https://example.com/a/b", "http://example.com:8080/a?x=/1", r"https://example.com/\%20/ä", "https://[::1]/x"],
)
def test_name_fits_into_a_path_of_the_api(url: str) -> None:
    (name,) = read_crontab(f"0 3 * * * curl '{url}'").endpoints

    assert quote(name, safe="") == name


def test_time_zone_that_is_assumed_is_stated() -> None:
    assumed = read_crontab("0 3 * * * curl https://example.com/")
    named = read_crontab("0 3 * * * curl https://example.com/", timezone="Europe/Berlin")

    assert assumed.endpoints["example.com"]["timezone"] == "UTC"
    assert assumed.remarks == [
        "times are read as UTC: the crontab has no time zone, and cron used that of its machine; "
        "give it, for example --tz Europe/Berlin"
    ]
    assert named.endpoints["example.com"]["timezone"] == "Europe/Berlin"
    assert named.remarks == []


@pytest.mark.parametrize(
    ("command", "option"),
    [("curl --retry 3 --retry-delay 5", "--retry 3"), ("wget -t 5", "-t 5"), ("wget --tries=5", "--tries 5")],
)
def test_retries_are_left_out_with_the_reason(command: str, option: str) -> None:
    taken = read_crontab(f"0 3 * * * {command} https://example.com/", timezone="UTC")

    assert taken.remarks == [
        f"line 1: {option} is left out: a failed run is not retried at once, the endpoint runs again at its next "
        "time; for an earlier run, add a rule with the condition `failures > 0`"
    ]


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "10.1.2.3", "localhost", "[fd00::1]", "192.168.0.7"])
def test_private_address_gets_a_note_with_the_setting_that_allows_it(host: str) -> None:
    (remark,) = read_crontab(f"0 3 * * * curl 'http://{host}/x'", timezone="UTC").remarks

    assert "is a private address, which is called only if the server allows its network" in remark
    assert "MAINSPRING_ALLOW_CIDRS" in remark


def test_public_address_gets_no_note() -> None:
    assert read_crontab("0 3 * * * curl http://93.184.216.34/", timezone="UTC").remarks == []
