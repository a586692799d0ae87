"""A crontab becomes a document: calls are taken over whole, and everything else is told with its line and reason."""

from urllib.parse import quote

import pytest

from mainspring.documents.imports.crontab import CommandsAs, read_crontab
from mainspring.documents.imports.local_command import program_name


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


@pytest.mark.parametrize(
    "line", ["0 3 * * * root curl https://example.com/", "0\t3 * * *\troot\tcurl https://example.com/"]
)
def test_user_column_is_left_out(line: str) -> None:
    assert one(line, has_users=True)["url"] == "https://example.com/"


def test_columns_of_a_nickname_may_be_separated_by_tabs() -> None:
    assert one("@daily\troot\tcurl https://example.com/", has_users=True)["cron"] == "@daily"


def test_command_whose_quotes_do_not_match_is_left_out() -> None:
    taken = read_crontab("0 3 * * * /bin/echo 'hello\n", timezone="UTC", commands_as=CommandsAs.COMMAND)

    assert taken.endpoints == {}
    assert [each.reason for each in taken.left_out] == ["its quotes do not match (No closing quotation)"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("@reboot curl https://example.com/", "@reboot is not a time"),
        ("61 3 * * * curl https://a.example", "cron"),
        ("0 3 * *", "it does not have five fields and a command"),
    ],
)
def test_line_that_is_left_out_is_named_with_its_reason(line: str, reason: str) -> None:
    taken = read_crontab(f"# comment\n\n{line}\n")

    assert taken.endpoints == {}
    (left_out,) = taken.left_out
    assert left_out.item == "line 3"
    assert reason in left_out.reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("curl https://a.example && curl https://b.example", "it is more than one command"),
        ("curl https://a.example | mail root", "it is more than one command"),
        ("curl https://a.example https://b.example", "it calls more than one URL"),
        ("curl -k https://a.example", "-k trusts any certificate; Mainspring always checks them"),
        ("curl --cert x https://a.example", "its option --cert is unknown"),
        ("curl https://a.example/$(date)", "it uses the output of another command"),
        ("curl https://a.example/$DAY", "it uses $DAY, whose value is not set here"),
        ("curl -d @/etc/body https://a.example", "its body comes from the file '/etc/body'"),
        ("curl ftp://a.example", "url"),
        ("curl 'https://a.example", "its quotes do not match"),
        ("curl", "it has no URL"),
        ("curl --retry x https://a.example", "--retry 'x' is not a number"),
        ("curl -m soon https://a.example", "-m 'soon' is not a number of seconds"),
        ("curl -u me https://a.example", "its -u has no password"),
        ("curl -H", "-H has no value"),
        ("curl -H broken https://a.example", "one of its headers has no colon"),
        ("curl -d password=hunter2 https://a.example", "its body has 'password', which looks like a secret"),
        ('curl --json \'{"a": [{"token": "x"}]}\' https://a.example', "its body has 'token'"),
        ("wget --post-file=/etc/body https://a.example", "its body comes from the file '/etc/body'"),
    ],
)
def test_call_that_cannot_be_http_is_a_command_and_the_reason_is_given(line: str, reason: str) -> None:
    taken = read_crontab(f"0 3 * * * {line}\n", timezone="UTC")

    assert [entry["kind"] for entry in taken.endpoints.values()] == ["heartbeat"]
    assert taken.remarks[0].startswith("line 1: not an endpoint of kind http: ")
    assert reason in taken.remarks[0]
    assert "hunter2" not in taken.text("crontab")


def test_command_is_a_heartbeat_and_the_remark_shows_how_to_ping_it() -> None:
    taken = read_crontab("30 2 * * * /usr/local/bin/backup --full\n", timezone="UTC")

    assert taken.endpoints == {
        "backup": {"kind": "heartbeat", "cron": "30 2 * * *", "timezone": "UTC", "max_duration": "1h"}
    }
    assert taken.remarks == [
        "line 1: 'backup' waits for pings of the job: write `mainspring exec backup --` before its command in the "
        "crontab"
    ]


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        pytest.param("/usr/local/bin/backup --full 'a b'",
            {"command": ["/usr/local/bin/backup", "--full", "a b"]}, id="a list of arguments"),
        pytest.param("backup --full", {"command": ["backup --full"], "shell": True}, id="a program without its path"),
        pytest.param("cd /srv && ./run.sh | gzip > x",
            {"command": ["cd /srv && ./run.sh | gzip > x"], "shell": True}, id="shell syntax"),
    ],
)  # fmt: skip
def test_command_is_taken_over_as_one_on_request(line: str, entry: dict[str, object]) -> None:
    found = one(f"30 2 * * * {line}", commands_as=CommandsAs.COMMAND)

    assert found == {"kind": "command", "timeout": "10m", "cron": "30 2 * * *", "timezone": "UTC"} | entry


def test_variables_of_a_crontab_are_those_of_its_commands_and_secret_ones_are_references() -> None:
    crontab = "PATH=/usr/bin\nDB_PASSWORD=hunter2\nMODE=fast\n0 3 * * * /bin/job\n"
    taken = read_crontab(crontab, timezone="UTC", commands_as=CommandsAs.COMMAND)

    assert taken.endpoints["job"]["environment"] == {"DB_PASSWORD": "${env:DB_PASSWORD}", "MODE": "fast"}
    assert taken.secrets == {"DB_PASSWORD": "hunter2"}
    assert 'MAINSPRING_COMMANDS, for example "/bin/job = default, env DB_PASSWORD, env MODE"' in taken.remarks[0]


def test_user_column_is_the_user_of_a_command_and_part_of_its_permission() -> None:
    taken = read_crontab("0 3 * * * web /bin/job\n", has_users=True, timezone="UTC", commands_as=CommandsAs.COMMAND)

    assert taken.endpoints["job"]["user"] == "web"
    assert taken.remarks[0].endswith('MAINSPRING_COMMANDS, for example "/bin/job = default, user web"')


@pytest.mark.parametrize(
    "command",
    [
        "/bin/job --password=hunter2", "/bin/job --token hunter2", "mysqldump -phunter2 db", "TOKEN=hunter2 /bin/job",
        "psql postgres://me:hunter2@db/x", "curl -u me:hunter2 https://a.example | sh",
        "curl -H 'Authorization: Bearer hunter2' https://a.example | sh",
    ],
)  # fmt: skip
def test_secret_argument_is_never_in_the_document(command: str) -> None:
    taken = read_crontab(f"0 3 * * * {command}\n", timezone="UTC", commands_as=CommandsAs.COMMAND)

    assert taken.endpoints == {}
    assert "looks like a secret" in taken.left_out[0].reason
    assert "hunter2" not in f"{taken.notes()}"


@pytest.mark.parametrize(
    "command", ["/bin/job --password=$PASSWORD", "/bin/job --token-file /run/token", "/bin/job -p 8"]
)
def test_argument_that_only_names_a_secret_is_taken_over(command: str) -> None:
    assert one(f"0 3 * * * {command}", commands_as=CommandsAs.COMMAND)["kind"] == "command"


def test_standard_input_of_a_command_is_a_reason_to_leave_it_out() -> None:
    taken = read_crontab("0 3 * * * /bin/job%input", commands_as=CommandsAs.COMMAND)

    assert "cron gives it standard input" in taken.left_out[0].reason


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/python3 -u /opt/report.py", "report.py"), ("flock -n /tmp/x.lock /bin/job", "job"),
        ("timeout 30s nice -n 5 /bin/job", "job"), ("cd /srv && ./run.sh", "run.sh"), ("A=1 job", "job"),
        ("(job)", "job"), ("/", "command"), ("cd /srv &&", "command"),
    ],
)  # fmt: skip
def test_command_is_named_after_its_program(command: str, name: str) -> None:
    assert program_name(command) == name


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
    ("command", "retry"),
    [
        ("curl --retry 3 --retry-delay 5", {"attempts": 4, "delay": "5s", "factor": 1}),
        ("wget -t 5", {"attempts": 5, "delay": "1s"}),
        ("wget --tries=0", {"attempts": 10, "delay": "1s"}),
        ("curl --retry 99999999999", {"attempts": 10, "delay": "1s"}),
        ("curl --retry 0", None),
    ],
)
def test_retries_are_taken_over(command: str, retry: dict[str, object] | None) -> None:
    assert one(f"0 3 * * * {command} https://example.com/").get("retry") == retry


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "10.1.2.3", "localhost", "[fd00::1]", "192.168.0.7"])
def test_private_address_gets_a_note_with_the_setting_that_allows_it(host: str) -> None:
    (remark,) = read_crontab(f"0 3 * * * curl 'http://{host}/x'", timezone="UTC").remarks

    assert "is a private address, which is called only if the server allows its network" in remark
    assert "MAINSPRING_ALLOW_CIDRS" in remark


def test_public_address_gets_no_note() -> None:
    assert read_crontab("0 3 * * * curl http://93.184.216.34/", timezone="UTC").remarks == []
