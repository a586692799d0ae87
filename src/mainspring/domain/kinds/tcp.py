"""Kind `tcp`: connect to a port, optionally send bytes and expect an answer, optionally over TLS."""

import re
from typing import Annotated, ClassVar

from msgspec.structs import replace

from mainspring.domain.config_field import About
from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.placeholders import mask
from mainspring.domain.kinds.kind import CallPolicy, Fact, Kind
from mainspring.domain.run import BODY_CAP_DEFAULT, TIMEOUT_MS_DEFAULT, Action, BodyCap, Condition, Literal, Timeout
from mainspring.domain.target import check_host

PORT_MAX = 65_535
BYTES_MAX = 10_000
Host = Annotated[str, About("Name or address of the host.", examples=("db.example.com",))]
Port = Annotated[int, About("Port to connect to.", least=1, most=PORT_MAX, examples=(5432,))]

_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.|$)", re.DOTALL)
_ESCAPED = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\"}


class TcpAction(Action, frozen=True, omit_defaults=True, tag_field="kind", tag="tcp"):
    """A connection to make, the bytes to send, and the bytes to expect."""

    host: Host
    port: Port
    send: Annotated[
        str | None,
        About(
            r"Text to send once connected. \r, \n, \t, \0, \\ and \xHH are escapes.",
            most=BYTES_MAX,
            is_payload=True,
            template="escaped",
            examples=(r"PING\r\n",),
        ),
    ] = None
    expect: Annotated[
        str | None,
        About(
            "Text that the answer must contain, with the same escapes.",
            most=BYTES_MAX,
            is_payload=True,
            examples=("+PONG",),
        ),
    ] = None
    read: Annotated[bool, About("Whether to wait for the first bytes of the peer if nothing is expected.")] = False
    tls: Annotated[bool, About("Whether to speak TLS. The certificate must be valid for the host.")] = False
    timeout_ms: Timeout = TIMEOUT_MS_DEFAULT
    body_cap: BodyCap = BODY_CAP_DEFAULT
    condition: Condition = None
    literal: Literal = False
    templated: bool = False


class TcpKind(Kind[TcpAction]):
    name = "tcp"
    about = "Connects to a port; can send text and expect an answer."
    action = TcpAction
    searched = ("host",)
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact("body.banner", "What the peer sent, as text, up to body_cap."),
        Fact("body.bytes", "How many bytes the peer sent."),
        Fact("body.connect_ms", "Time until the connection was open."),
        Fact("body.tls", "With tls: `version`, `days_left`, `issuer` and `names` of the certificate."),
    )

    def check(self, action: TcpAction, policy: CallPolicy) -> TcpAction:
        for key, text in (("send", action.send), ("expect", action.expect)):
            if text is not None:
                unescaped(text if action.literal else mask(text)[0], key)
        return replace(action, host=check_host(action.host), send=action.send or None, expect=action.expect or None)

    def host_key(self, action: TcpAction) -> str:
        return host_and_port(action.host, action.port)

    def summary(self, action: TcpAction) -> str:
        return f"tcp {self.host_key(action)}{' over TLS' if action.tls else ''}"


def host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def unescaped(text: str, field: str) -> bytes:
    r"""The bytes of a text with escapes: `PING\r\n`."""
    parts: list[bytes] = []
    place = 0
    for found in _ESCAPE.finditer(text):
        code = found[1]
        if code in _ESCAPED:
            meant = _ESCAPED[code]
        elif len(code) == 3:
            meant = bytes([int(code[1:], 16)])
        else:
            raise InvalidInput(
                rf"{field} has the escape \{code[:1]}; known are \r, \n, \t, \0, \\ and \xHH; write a backslash as \\",
                field=field,
            )
        parts += [text[place : found.start()].encode("utf-8", "surrogatepass"), meant]
        place = found.end()
    return b"".join([*parts, text[place:].encode("utf-8", "surrogatepass")])
