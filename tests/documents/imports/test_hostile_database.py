"""A hostile `kuma.db`: SQLite computes columns, so a small file can have any amount of text."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mainspring.documents.imports.uptime_kuma_database import read_kuma_db
from mainspring.domain.errors import InvalidInput

OTHERS = (
    "CREATE TABLE monitor_notification (monitor_id, notification_id); CREATE TABLE notification (id, name, config);"
)
COMPUTED = """
CREATE TABLE monitor (id INTEGER PRIMARY KEY, name, type, url GENERATED ALWAYS AS (printf('%.*c', 900000, 'x')));
INSERT INTO monitor (name, type)
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT 'a' || i, 'http' FROM n;
"""


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        pytest.param(COMPUTED, "more than 20,000,000 characters", id="a computed column"),
        pytest.param("CREATE VIRTUAL TABLE monitor USING fts5(id, name, type);", "no table", id="a virtual table"),
    ],
)
def test_database_that_computes_what_it_contains_is_refused(tmp_path: Path, schema: str, words: str) -> None:
    path = tmp_path / "kuma.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema + OTHERS)

    with pytest.raises(InvalidInput, match=words):
        read_kuma_db(path)
