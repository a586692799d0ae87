"""The tables of a database as `move` needs them: names, columns and keys, read from the database itself.

No table is described here. A table or column that only one of two databases has is a difference, and stops a move.
Rows travel in the form that SQLite stores: times are microseconds, booleans are 0 and 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TypeAlias

import msgspec
from msgspec import Struct

Value: TypeAlias = int | str | bytes | None
Row: TypeAlias = tuple[Value, ...]
Key: TypeAlias = tuple[int | str, ...]

NOT_MOVED = ("schema_migration", "move_change")  # tables that belong to a database and not to the installation
# The large tables, copied while the source is in service. Without foreign keys, so that their order does not matter.
HISTORY = (
    "run",
    "event",
    "execution",
    "execution_entry",
    "execution_arrival",
    "execution_effect",
    "workflow_tick",
    "workflow_checkpoint",
    "delivery",
    "audit_entry",
)


class Table(Struct, frozen=True):
    """`columns` in the order of their names, without generated ones; `parents` are tables that foreign keys name."""

    name: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]  # INTEGER, TEXT or BLOB
    key: tuple[str, ...]
    parents: frozenset[str]

    def key_of(self, row: Row) -> Key:
        return tuple(row[self.columns.index(name)] for name in self.key)  # type: ignore[misc]  # no key is NULL


Tables = Mapping[str, Table]


def tables_from(columns: Iterable[Sequence[object]], parents: Iterable[Sequence[object]]) -> dict[str, Table]:
    """From `table, column, kind, place in the key`, in the order of tables and columns, and `table, parent`."""
    found: dict[str, list[tuple[str, str, int]]] = {}
    for table, column, kind, place in columns:
        found.setdefault(str(table), []).append((str(column), str(kind), int(str(place))))
    named = [(str(table), str(parent)) for table, parent in parents]
    return {
        name: Table(
            name,
            tuple(column for column, _, _ in sorted(rows)),
            tuple(kind for _, kind, _ in sorted(rows)),
            tuple(column for column, _, place in sorted(rows, key=lambda row: row[2]) if place),
            frozenset(parent for table, parent in named if table == name != parent),
        )
        for name, rows in found.items()
        if name not in NOT_MOVED
    }


def differences(one: Tables, other: Tables) -> list[str]:
    """Differences between two databases: tables, columns, kinds of columns, keys."""
    found = []
    for name in sorted({*one, *other}):
        if name not in one or name not in other:
            found.append(f"table {name}")
            continue
        here, there = one[name], other[name]
        columns = {*zip(here.columns, here.kinds, strict=True)} ^ {*zip(there.columns, there.kinds, strict=True)}
        found += sorted({f"column {name}.{column}" for column, _ in columns})
        if here.key != there.key:
            found.append(f"key of {name}")
    return found


def parents_first(tables: Tables) -> list[Table]:
    """Every table after those that its foreign keys name."""
    ordered: list[Table] = []
    waiting = [tables[name] for name in sorted(tables)]
    while waiting:
        placed = {table.name for table in ordered}
        ready = [table for table in waiting if table.parents <= placed]
        assert ready, "foreign keys form a circle"
        ordered += ready
        waiting = [table for table in waiting if table not in ready]
    return ordered


def digest(rows: Iterable[Row]) -> int:
    """A number for a set of rows in any order: digests of two sets add up to the digest of both."""
    encode = msgspec.msgpack.Encoder().encode
    total = 0
    for row in rows:
        total += int.from_bytes(blake2b(encode(row), digest_size=16).digest())
    return total & ((1 << 128) - 1)


def size_of(rows: Sequence[Row]) -> int:
    """About how many bytes rows take."""
    return sum(len(value) if isinstance(value, str | bytes) else 8 for row in rows for value in row)
