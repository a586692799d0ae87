"""Headers in a document: references become secrets, secrets are encrypted, unchanged ones stay as stored."""

from collections.abc import Iterator
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from mainspring.documents.entries import EndpointEntry, HeaderEntry
from mainspring.documents.plan import DocumentPlan, FieldChange, WantedEntry
from mainspring.documents.references import STORED, escaped, has_reference, resolved
from mainspring.domain.access.sealing import pair_place
from mainspring.domain.kinds.registry import HTTP, KIND_BY_NAME, kind_of
from mainspring.domain.run import Action, Header

SECRET = "(secret)"
NEW_SECRET = "(another secret)"


class WantedHeader(Struct, frozen=True):
    name: str
    value: str | None  # None: the stored one
    secret: bool
    path: tuple[str | int, ...]


def wishes_of(plan: DocumentPlan, wanted: WantedEntry) -> list[WantedHeader]:
    """The headers of an entry, or what its kind has instead; one that cannot be resolved is an error and left out."""
    assert isinstance(wanted.entry, EndpointEntry)
    wishes: list[WantedHeader] = []
    kind = KIND_BY_NAME.get(wanted.entry.kind_name)
    key, word = ("", "") if kind is None else (kind.pairs, kind.pair)
    pairs: dict[str, list[HeaderEntry]] = getattr(wanted.entry, key) if key else {}
    for name, values in pairs.items():
        for place, header in enumerate(values):
            path = (key, name, place)
            if header.value == STORED:
                wishes.append(WantedHeader(name, None, True, path))
                continue
            try:
                value = resolved(header.value, plan.options.resolve)
            except ValueError as fault:
                plan.fault(wanted.at(*path, "value"), f"{word} {name[:60]!r}: {fault}")
                continue
            wishes.append(WantedHeader(name, value, header.secret or has_reference(header.value), path))
    return wishes


def keep_or_seal(
    plan: DocumentPlan,
    wanted: WantedEntry,
    endpoint_id: str,
    wishes: list[WantedHeader],
    checked: Action,
    stored: tuple[Header, ...],
    moved_from: str | None = None,
) -> tuple[Header, ...] | None:
    """The headers to store. `checked` has those with a value, in order. None: an error was recorded.

    `moved_from` is the origin that the stored secrets were given for, if the URL now has another one.
    """
    before = by_name_and_place(stored)
    kind = kind_of(checked)
    plain = iter(kind.pairs_of(checked))
    headers: list[Header] = []
    numbers: dict[str, Iterator[int]] = {}
    for wish in wishes:
        known = before.get((wish.name, next(numbers.setdefault(wish.name, count()))))
        if wish.value is not None:
            headers.append(_sealed_unless_known(plan, endpoint_id, checked, next(plain), known))
        elif known is not None and known.secret and moved_from is not None:
            plan.fault(
                wanted.at(*wish.path, "value"),
                f"{kind.pair} {wish.name[:60]!r} is {STORED}, but that secret was given for {moved_from}, and the "
                f"{'url' if kind is HTTP else 'target'} is at another origin now; "
                "give it again as ${env:NAME} or ${file:/path}",
            )
            return None
        elif known is not None and known.secret:
            headers.append(known)
        else:
            plan.fault(
                wanted.at(*wish.path, "value"),
                f"{kind.pair} {wish.name[:60]!r} is {STORED}, but no secret of that name is stored for "
                f"{wanted.name!r}; give it as ${{env:NAME}} or ${{file:/path}}",
            )
            return None
    return stored if _grouped(stored) == headers else tuple(headers)


def _sealed_unless_known(
    plan: DocumentPlan, endpoint_id: str, action: Action, wanted: Header, known: Header | None
) -> Header:
    if not wanted.secret:
        return wanted
    desk = plan.desk
    if known is not None and known.secret:
        context = pair_place(desk.tenant_id, endpoint_id, action, known.name)
        if desk.vault.open(known.value, context) == wanted.value:
            return known
    context = pair_place(desk.tenant_id, endpoint_id, action, wanted.name)
    return replace(wanted, value=desk.vault.seal(wanted.value, context))


def changed_headers(key: str, before: tuple[Header, ...], after: tuple[Header, ...]) -> list[FieldChange]:
    olds, news = by_name_and_place(before), by_name_and_place(after)
    found = []
    for pair in [*olds, *(each for each in news if each not in olds)]:
        old, new = olds.get(pair), news.get(pair)
        if old != new:
            was = None if old is None else SECRET if old.secret else old.value
            will_be = None if new is None else NEW_SECRET if new.secret and was == SECRET else _shown(new)
            found.append(FieldChange(f"{key}.{pair[0]}", was, will_be))
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
