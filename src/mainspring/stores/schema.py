"""Compare the migrations of a database with those of this program; report a database that the installation has left."""

from collections.abc import Iterable

from mainspring.domain.errors import StoreUnavailable
from mainspring.stores.queries import migrations


def check_applied(applied: Iterable[object], package: str) -> None:
    """Raises StoreUnavailable if the schema is too old for this program."""
    found, known = _newest(applied), migrations(package)[-1][0]
    if found < known:
        raise StoreUnavailable(
            f"the database has schema {found}, and this program needs {known}; run `mainspring migrate`"
        )


def newer_than_known(applied: Iterable[object], package: str) -> str | None:
    found, known = _newest(applied), migrations(package)[-1][0]
    if found <= known:
        return None
    return f"the database has schema {found}, and this program knows {known}; restart this process with the new version"


def moved_text(moved_to: str) -> str:
    return f"this installation has moved to {moved_to}; set MAINSPRING_DATABASE_URL to it"


def _newest(applied: Iterable[object]) -> int:
    return max((int(str(number)) for number in applied), default=0)
