"""Read a database's `.sql` files: named statements with named parameters, and the column lists they share.

    -- name: read_clock
    -- The time of the database.

`{{columns}}` is replaced by a list made from `rows`, so that a query and the order of its values always agree. Values
are passed in the order in which their parameters first appear, or as a line under the name says:

    -- parameters: now, limit, worker
"""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

LISTS = ("ids", "names", "jobs", "tenants", "members")  # parameters with several texts: `id {{in_ids}}`
SHARED = "mainspring.stores"  # the folder of the queries that both databases share
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_PARAMETER = re.compile(r'(?<![:"]):([a-z_]+)\b')
_ORDER = re.compile(r"^-- parameters: (.+)$", re.MULTILINE)
_COMMENT = re.compile(r"--[^\n]*\n")


def load_queries(package: str, fragments: Mapping[str, str], mark: str) -> dict[str, str]:
    """Every query of the database's own `*.sql` files, and of those that both databases share.

    `mark` is what the database writes before the number of a parameter.
    """
    text = "\n".join(file.read_text() for folder in (package, SHARED) for file in _sql_files(folder))
    parts = _NAME.split(text)[1:]
    queries: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        sql = _COMMENT.sub("", body).strip().rstrip(";")
        for fragment, replacement in fragments.items():
            sql = sql.replace("{{" + fragment + "}}", replacement)
        if name in queries:
            raise ValueError(f"two queries are called {name}; rename one")
        order = _ORDER.search(body)
        queries[name] = numbered(sql, mark, re.split(r", *", order[1]) if order else ())
    return queries


def _sql_files(folder: str) -> list[Traversable]:
    return sorted((file for file in files(folder).iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)


def numbered(sql: str, mark: str, order: Sequence[str] = ()) -> str:
    """`:name` as `$1`, `$2`, ...; `::casts` and the `"name":value` of JSON stay unchanged."""
    numbers = {name: number for number, name in enumerate(order, 1)}

    def number(match: re.Match[str]) -> str:
        return f"{mark}{numbers.setdefault(match[1], len(numbers) + 1)}"

    return _PARAMETER.sub(number, sql)


def migrations(package: str) -> list[tuple[int, str, str]]:
    """(number, name, text) of every `migrations/NNNN_what.sql`, in order."""
    folder = files(package).joinpath("migrations")
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), name.removesuffix(".sql"), folder.joinpath(name).read_text()) for name in found]
