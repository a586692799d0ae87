"""All kinds of endpoints, and how their actions are stored. Pure.

An action is stored as JSON that begins with its kind; without one it is of kind `http`, like every action before other
kinds existed. An action of a kind that is not installed stays stored, and its calls are blocked: one endpoint must not
prevent the others from being read.
"""

from typing import Any

import msgspec

from mainspring.domain.config_field import About, ConfigField, FieldKind
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.domain.kinds.command import CommandKind
from mainspring.domain.kinds.dns import DnsKind
from mainspring.domain.kinds.heartbeat import HeartbeatKind
from mainspring.domain.kinds.http import HttpKind
from mainspring.domain.kinds.installed import load_installed
from mainspring.domain.kinds.kind import CallPolicy, Kind
from mainspring.domain.kinds.ping import PingKind
from mainspring.domain.kinds.queue import QueueKind
from mainspring.domain.kinds.tcp import TcpKind
from mainspring.domain.kinds.tls import TlsKind
from mainspring.domain.run import BODY_CAP_DEFAULT, TIMEOUT_MS_DEFAULT, Action, HttpAction

HTTP = HttpKind()
BUILT_IN: tuple[Kind[Any], ...] = (
    HTTP, TcpKind(), TlsKind(), DnsKind(), PingKind(), CommandKind(), QueueKind(), HeartbeatKind(),
)  # fmt: skip
INSTALLED = load_installed(BUILT_IN)
KINDS: tuple[Kind[Any], ...] = (*BUILT_IN, *(plugin.kind for plugin in INSTALLED.plugins))
PAIRS = tuple(dict.fromkeys(kind.pairs for kind in KINDS if kind.pairs))  # each interface has its own form
KIND_BY_NAME = {kind.name: kind for kind in KINDS}
KIND_FIELD = ConfigField(
    "kind",
    "kind",
    FieldKind.CHOICE,
    HTTP.name,
    is_required=False,
    is_nullable=False,
    about=About("What a run does. Each kind has other fields.", choices=tuple(KIND_BY_NAME)),
)


class UnknownAction(Action, frozen=True):
    """An action of a kind that is not installed here, as stored."""

    kind: str
    text: str
    timeout_ms: int = TIMEOUT_MS_DEFAULT
    body_cap: int = BODY_CAP_DEFAULT
    condition: str | None = None


class UnknownKind(Kind[UnknownAction]):
    """Represents every kind that is not installed."""

    about = "This kind is not installed."
    action = UnknownAction

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]  # a class has it for the others; here it is known late

    def check(self, action: UnknownAction, policy: CallPolicy) -> UnknownAction:
        raise InvalidInput(
            f"kind {self.name!r} is not installed here; install the package that adds it, or choose another kind",
            field="kind",
            value=self.name,
        )

    def summary(self, action: UnknownAction) -> str:
        return f"{self.name} (kind not installed)"


_BY_ACTION: dict[type[Action], Kind[Any]] = {kind.action: kind for kind in KINDS}
_HTTP_DECODER = msgspec.json.Decoder(HttpAction)
_DECODERS = {kind.name: msgspec.json.Decoder(kind.action) for kind in KINDS if kind is not HTTP}
_MARK = '{"kind":"'
_encode = msgspec.json.Encoder().encode


def kind_of(action: Action) -> Kind[Any]:
    found = _BY_ACTION.get(type(action))
    if found is not None:
        return found
    assert isinstance(action, UnknownAction), type(action)
    return UnknownKind(action.kind)


def refuse_if_expected(action: Action, name: str) -> None:
    """A heartbeat calls nothing, so it cannot be run or tested."""
    if action.is_expected:
        raise Conflict(
            f"{name[:100]!r} cannot be run: kind {kind_of(action).name} calls nothing and waits for pings; "
            "send one to its ping URL",
            kind="endpoint",
            name=name,
        )


def kind_named(name: object) -> Kind[Any]:
    """The kind of this name. Raises InvalidInput with the nearest one."""
    checked: str = KIND_FIELD.checked(str(name))
    return KIND_BY_NAME[checked]


def decode_action(text: str) -> Action:
    """The action of a stored text."""
    if not text.startswith(_MARK):
        return _HTTP_DECODER.decode(text)
    name = text[len(_MARK) :].partition('"')[0]
    decoder = _DECODERS.get(name)
    return UnknownAction(name, text) if decoder is None else decoder.decode(text)


def encode_action(action: Action) -> str:
    return action.text if isinstance(action, UnknownAction) else _encode(action).decode()
