"""Realistic exports of other products become documents that can be applied, without a secret in them."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mainspring.documents.document import parse_documents
from mainspring.documents.imports.crontab import CommandsAs, read_crontab
from mainspring.documents.imports.healthchecks import read_healthchecks
from mainspring.documents.imports.kubernetes import read_cron_jobs
from mainspring.documents.imports.takeover import Takeover
from mainspring.documents.imports.uptime_kuma import read_uptime_kuma
from mainspring.documents.imports.uptime_kuma_database import read_kuma_db
from mainspring.domain.errors import InvalidInput

GOLDEN = Path(__file__).parent / "golden"
SECRETS = (
    "m4il-pass h00k-t0ken b0t-t0ken k3y-in-query b4sic-pass h3ader-token pUsHt0k3n pg-p4ss 31365bce 803f680d "
    "t0ken-in-env d8-passw0rd cr0n-token cr0n-key m7sql-pass"
).split()

READ: dict[str, Callable[[bytes], Takeover]] = {
    "uptime-kuma.json": read_uptime_kuma,
    "healthchecks.json": read_healthchecks,
    "kubernetes.yaml": lambda data: read_cron_jobs("kubernetes.yaml", data),
    "crontab": lambda data: read_crontab(data.decode()),
    "crontab-commands": lambda data: read_crontab(data.decode(), commands_as=CommandsAs.COMMAND),
}


def taken_from(name: str) -> Takeover:
    return READ[name]((GOLDEN / name.removesuffix("-commands")).read_bytes())


@pytest.mark.parametrize("name", READ)
def test_export_becomes_the_golden_document(name: str, request: pytest.FixtureRequest) -> None:
    expected = GOLDEN / f"{name.partition('.')[0]}.expected.yaml"

    assert taken_from(name).text("imported") == expected.read_text()


@pytest.mark.parametrize("name", READ)
def test_document_of_an_export_is_read_without_a_fault(name: str) -> None:
    taken = taken_from(name)
    documents = parse_documents([("imported", taken.text("imported").encode())])

    assert documents.faults == []
    assert list(documents.wanted["endpoints"]) == list(taken.endpoints)


@pytest.mark.parametrize("name", READ)
def test_no_secret_of_an_export_is_shown(name: str) -> None:
    taken = taken_from(name)
    shown = f"{taken.text('imported')} {taken.notes()}"

    assert [secret for secret in SECRETS if secret in shown] == []


def test_paused_items_are_taken_over_on_request() -> None:
    kuma = read_uptime_kuma((GOLDEN / "uptime-kuma.json").read_bytes(), with_paused=True)
    checks = read_healthchecks((GOLDEN / "healthchecks.json").read_bytes(), with_paused=True)
    jobs = read_cron_jobs("x", (GOLDEN / "kubernetes.yaml").read_bytes(), with_paused=True)

    assert "Old-shop" in kuma.endpoints
    assert "Old-import" in checks.endpoints
    assert "retired" in jobs.endpoints


SNAKE = {
    "retryInterval": "retry_interval", "resendInterval": "resend_interval", "ignoreTls": "ignore_tls",
    "upsideDown": "upside_down", "expiryNotification": "expiry_notification", "pushToken": "push_token",
    "jsonPath": "json_path", "expectedValue": "expected_value", "httpBodyEncoding": "http_body_encoding",
    "authMethod": "auth_method", "proxyId": "proxy_id", "invertKeyword": "invert_keyword",
    "accepted_statuscodes": "accepted_statuscodes_json",
}  # fmt: skip


def kuma_db(path: Path) -> Path:
    """The database that the golden backup could be of, with its own names of columns."""
    backup = msgspec.json.decode((GOLDEN / "uptime-kuma.json").read_bytes())
    apart = ("notificationIDList", "tags", "childrenIDs")
    rows = [{key: value for key, value in each.items() if key not in apart} for each in backup["monitorList"]]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE monitor ({', '.join(SNAKE.get(each, each) for each in columns)})")
        for row in rows:
            values = [
                msgspec.json.encode(row[key]).decode() if isinstance(row.get(key), list) else row.get(key)
                for key in columns
            ]
            connection.execute(f"INSERT INTO monitor VALUES ({', '.join('?' * len(columns))})", values)
        connection.execute("CREATE TABLE notification (id, name, config, active, user_id, is_default)")
        connection.execute("CREATE TABLE monitor_notification (id, monitor_id, notification_id)")
        for each in backup["notificationList"]:
            values = [each["id"], each["name"], each["config"], 1, 1, each["isDefault"]]
            connection.execute("INSERT INTO notification VALUES (?, ?, ?, ?, ?, ?)", values)
        for monitor in backup["monitorList"]:
            for key in monitor["notificationIDList"]:
                connection.execute("INSERT INTO monitor_notification VALUES (1, ?, ?)", (monitor["id"], int(key)))
    connection.close()
    return path


def test_database_of_uptime_kuma_is_taken_over_like_its_backup(tmp_path: Path) -> None:
    from_database = read_kuma_db(kuma_db(tmp_path / "kuma.db"))

    assert from_database.document("x") == taken_from("uptime-kuma.json").document("x")


def test_database_of_uptime_kuma_is_not_changed(tmp_path: Path) -> None:
    path = kuma_db(tmp_path / "kuma.db")
    before = path.read_bytes()
    read_kuma_db(path)

    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["kuma.db"]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE other (id)",
        "CREATE VIEW monitor AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n",
    ],
)
def test_foreign_database_is_refused(tmp_path: Path, statement: str) -> None:
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute(statement)
    connection.close()

    with pytest.raises(InvalidInput, match="has no table 'monitor'"):
        read_kuma_db(tmp_path / "x.db")


def test_broken_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)

    with pytest.raises(InvalidInput, match="the database cannot be read"):
        read_kuma_db(tmp_path / "x.db")


def test_braces_of_a_source_are_sent_as_they_are() -> None:
    """Sources have no templates, so `{{` is part of a text."""
    body = '{"text": "{{ .Name }}"}'
    monitor = {"id": 1, "name": "hook", "type": "http", "url": "https://a.example.com/", "method": "POST", "body": body}
    taken = read_uptime_kuma(msgspec.json.encode({"monitorList": [monitor], "notificationList": []}))

    assert (taken.left_out, taken.endpoints["hook"]["body"], taken.endpoints["hook"]["literal"]) == ([], body, True)
