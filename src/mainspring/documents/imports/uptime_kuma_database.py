"""Read monitors and notifications from `kuma.db`, the SQLite file of Uptime Kuma, in the form of its backup.

The file is opened read-only and is not trusted. Only plain tables are read, for a bounded time, number of rows and
size: with computed columns a file of 100 kB may contain gigabytes of text.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

from mainspring.documents.imports.source_file import BYTES_MAX, ITEMS_MAX, TEXT_CHARS_MAX, refused
from mainspring.documents.imports.takeover import Takeover
from mainspring.documents.imports.uptime_kuma import WHAT, convert

MAGIC = b"SQLite format 3\0"
SECONDS_MAX = 10.0
SIZE_MAX = 4 * BYTES_MAX  # of a table
STEPS = 10_000  # of SQLite between two checks of the time
# Columns whose name in a backup differs by more than its spelling.
KEPT = {"dns_resolve_type", "dns_resolve_server", "basic_auth_user", "basic_auth_pass", "ping_count"}
_QUERIES = {
    "monitor": "SELECT * FROM monitor LIMIT ?",
    "monitor_notification": "SELECT monitor_id, notification_id FROM monitor_notification LIMIT ?",
    "notification": "SELECT id, name, config FROM notification LIMIT ?",
}
_UNDERSCORE = re.compile(r"_([a-z])")


def read_kuma_db(path: Path, *, with_paused: bool = False) -> Takeover:
    """Raises InvalidInput if the file is not a database of Uptime Kuma."""
    deadline = monotonic() + SECONDS_MAX
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10 * TEXT_CHARS_MAX)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.set_progress_handler(lambda: monotonic() > deadline, STEPS)
            monitors = [_monitor(row) for row in _rows(connection, "monitor")]
            links = list(_rows(connection, "monitor_notification"))
            notifications: list[object] = list(_rows(connection, "notification"))
    except (sqlite3.Error, UnicodeDecodeError) as fault:
        raise refused(f"the database cannot be read ({fault}); give {WHAT}") from None
    used: dict[object, dict[str, object]] = {}
    for link in links:
        used.setdefault(link.get("monitor_id"), {})[str(link.get("notification_id"))] = True
    for monitor in monitors:
        monitor["notificationIDList"] = used.get(monitor.get("id"), {})
    return convert(list(monitors), notifications, with_paused)


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[dict[str, object]]:
    """The rows of a plain table: a view could compute without end, and a virtual table runs the code of its module."""
    query = "SELECT type, rootpage > 0 FROM sqlite_master WHERE name = ?"
    if connection.execute(query, (table,)).fetchone() != ("table", 1):
        raise refused(f"the database has no table {table!r}; give {WHAT}")
    cursor = connection.execute(_QUERIES[table], (ITEMS_MAX + 1,))
    columns = [each[0] for each in cursor.description]
    size = 0
    for number, row in enumerate(cursor):
        if number == ITEMS_MAX:
            raise refused(f"table {table!r} has more than {ITEMS_MAX:,} rows; that many are not imported")
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if size > SIZE_MAX:
            raise refused(f"table {table!r} has more than {SIZE_MAX:,} characters; that much is not imported")
        yield dict(zip(columns, row, strict=True))


def _monitor(row: dict[str, object]) -> dict[str, object]:
    """The row under the names of a backup: `retry_interval` is `retryInterval`."""
    found = {
        key if key in KEPT else _UNDERSCORE.sub(lambda letter: letter[1].upper(), key): value
        for key, value in row.items()
    }
    codes = row.get("accepted_statuscodes_json")
    found["accepted_statuscodes"] = re.findall(r"\d{3}(?:-\d{3})?", codes) if isinstance(codes, str) else None
    return found
