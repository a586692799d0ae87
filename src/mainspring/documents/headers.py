"""Headers in a document: references become secrets, secrets are encrypted, unchanged ones stay as stored."""

from collections.abc import Iterator
from itertools import count

from msgspec import Struct

from mainspring.documents.entries import EndpointEntry
from mainspring.documents.plan import DocumentPlan, FieldChange, WantedEntry
from mainspring.documents.references import STORED, escaped, has_reference, resolved
from mainspring.domain.run import Header
from mainspring.operations.endpoints import header_context, sealed

SECRET = "(secret)"
NEW_SECRET = "(another secret)"


class WantedHeader(Struct, frozen=True):
    name: str
    value: str | None  # None: the stored one
    secret: bool
    path: tuple[str | int, ...]


def wishes_of(plan: DocumentPlan, wanted: WantedEntry) -> list[WantedHeader]:
    """The headers of an entry; one that cannot be resolved is an error and left out."""
    assert isinstance(wanted.entry, EndpointEntry)
    wishes: list[WantedHeader] = []
    for name, values in wanted.entry.headers.items():
        for place, header in enumerate(values):
            path = ("headers", name, place)
            if header.value == STORED:
                wishes.append(WantedHeader(name, None, True, path))
                continue
            try:
                value = resolved(header.value, plan.options.resolve)
            except ValueError as fault:
                plan.fault(wanted.at(*path, "value"), f"header {name[:60]!r}: {fault}")
                continue
            wishes.append(WantedHeader(name, value, header.secret or has_reference(header.value), path))
    return wishes


def keep_or_seal(
    plan: DocumentPlan,
    wanted: WantedEntry,
    endpoint_id: str,
    wishes: list[WantedHeader],
    checked: tuple[Header, ...],
    stored: tuple[Header, ...],
    moved_from: str | None = None,
) -> tuple[Header, ...] | None:
    """The headers to store. `checked` are those with a value, in order. None: an error was recorded.

    `moved_from` is the origin that the stored secrets were given for, if the URL now has another one.
    """
    before = by_name_and_place(stored)
    plain = iter(checked)
    headers: list[Header] = []
    numbers: dict[str, Iterator[int]] = {}
    for wish in wishes:
        known = before.get((wish.name, next(numbers.setdefault(wish.name, count()))))
        if wish.value is not None:
            headers.append(_sealed_unless_known(plan, endpoint_id, next(plain), known))
        elif known is not None and known.secret and moved_from is not None:
            plan.fault(
                wanted.at(*wish.path, "value"),
                f"header {wish.name[:60]!r} is {STORED}, but that secret was given for {moved_from}, and the url is at "
                "another origin now; give it again as ${env:NAME} or ${file:/path}",
            )
            return None
        elif known is not None and known.secret:
            headers.append(known)
        else:
            plan.fault(
                wanted.at(*wish.path, "value"),
                f"header {wish.name[:60]!r} is {STORED}, but no secret of that name is stored for {wanted.name!r}; "
                "give it as ${env:NAME} or ${file:/path}",
            )
            return None
    return stored if _grouped(stored) == headers else tuple(headers)


def _sealed_unless_known(plan: DocumentPlan, endpoint_id: str, wanted: Header, known: Header | None) -> Header:
    if not wanted.secret:
        return wanted
    if known is not None and known.secret:
        context = header_context(plan.desk, endpoint_id, known.name)
        if plan.desk.vault.open(known.value, context) == wanted.value:
            return known
    return sealed(plan.desk, endpoint_id, (wanted,))[0]


def changed_headers(before: tuple[Header, ...], after: tuple[Header, ...]) -> list[FieldChange]:
    olds, news = by_name_and_place(before), by_name_and_place(after)
    found = []
    for key in [*olds, *(key for key in news if key not in olds)]:
        old, new = olds.get(key), news.get(key)
        if old != new:
            was = None if old is None else SECRET if old.secret else old.value
            will_be = None if new is None else NEW_SECRET if new.secret and was == SECRET else _shown(new)
            found.append(FieldChange(f"headers.{key[0]}", was, will_be))
    return found


def exported_headers(headers: tuple[Header, ...]) -> dict[str, object]:
    """By name, in order; secret ones as a reference to the stored value."""
    found: dict[str, list[object]] = {}
    for header in headers:
        found.setdefault(header.name, []).append(STORED if header.secret else escaped(header.value))
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def by_name_and_place(headers: tuple[Header, ...]) -> dict[tuple[str, int], Header]:
    """Each header by its name and its number among those of that name."""
    numbers: dict[str, Iterator[int]] = {}
    return {(header.name, next(numbers.setdefault(header.name, count()))): header for header in headers}


def _grouped(headers: tuple[Header, ...]) -> list[Header]:
    """In the form of a document: those of one name together. The order of different names does not matter."""
    groups: dict[str, list[Header]] = {}
    for header in headers:
        groups.setdefault(header.name, []).append(header)
    return [header for group in groups.values() for header in group]


def _shown(header: Header) -> str:
    return SECRET if header.secret else header.value
