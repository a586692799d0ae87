"""What lies sealed in which row, and what it is sealed to: the same on both databases."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from mainspring.domain.access.sealing import answer_place, header_place, query_place, second_factor_place, signing_place
from mainspring.domain.notify.subscription import Alert, Webhook, destination_place, secret_place, target_place
from mainspring.domain.run import HttpAction
from mainspring.ports.sealing import SealedKind, SealedRow

BETWEEN = "\n"  # the request and the answer that are read as one text; no sealed text holds it
PLACE_PARTS = {
    SealedKind.ENDPOINT: 1,
    SealedKind.SIGNING_KEY: 1,
    SealedKind.SUBSCRIPTION: 1,
    SealedKind.SECOND_FACTOR: 1,
    SealedKind.ANSWER: 3,
}
_ACTION = msgspec.json.Decoder(HttpAction)
_CONFIG: msgspec.json.Decoder[Webhook | Alert] = msgspec.json.Decoder(Webhook | Alert)


def beginning(kind: SealedKind, after: tuple[str, ...]) -> tuple[str, ...]:
    """Where a query goes on; before everything where nothing was read yet, since no id is empty."""
    return after or ("",) * PLACE_PARTS[kind]


def sealed_row(kind: SealedKind, row: Sequence[object]) -> SealedRow:
    """From `place..., tenant_id, text, is_busy`, the columns that the queries `sealed_*` read."""
    *place, tenant_id, text, is_busy = row
    found = tuple(map(str, place))
    values = _VALUES[kind](str(tenant_id), found, str(text))
    return SealedRow(kind, found, str(tenant_id), str(text), values, bool(is_busy))


def resealed(row: SealedRow, fresh: Mapping[str, str]) -> str:
    """The text with other sealed texts in it. None of them holds a character that JSON writes otherwise."""
    text = row.text
    for old, new in fresh.items():
        text = text.replace(old, new)
    return text


def _action(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    action = _ACTION.decode(text)
    queries = {action.query: query_place(tenant_id, place[0])} if action.query else {}
    return queries | {
        each.value: header_place(tenant_id, place[0], each.name) for each in action.headers if each.secret
    }


def _key(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    return {text: signing_place(tenant_id)}


def _second_factor(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    return {text: second_factor_place(place[0])}


def _subscription(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    config = _CONFIG.decode(text)
    if isinstance(config, Alert):
        return {each.target: destination_place(tenant_id, place[0], each.id) for each in config.channels}
    targets = {config.target: target_place(tenant_id, place[0])} if config.target else {}
    return targets | {secret: secret_place(tenant_id, place[0]) for secret in config.secrets}


def _answer(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    _, actor, key = place
    return {part: answer_place(tenant_id, actor, key) for part in text.split(BETWEEN) if part}


_VALUES: dict[SealedKind, Callable[[str, tuple[str, ...], str], dict[str, str]]] = {
    SealedKind.ENDPOINT: _action,
    SealedKind.SIGNING_KEY: _key,
    SealedKind.SUBSCRIPTION: _subscription,
    SealedKind.SECOND_FACTOR: _second_factor,
    SealedKind.ANSWER: _answer,
}
