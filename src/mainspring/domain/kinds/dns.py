"""Kind `dns`: look up one record, through the system's name servers or a named one, and compare the answers."""

from enum import StrEnum
from ipaddress import ip_address
from typing import Annotated, ClassVar

from msgspec.structs import replace

from mainspring.domain.config_field import About
from mainspring.domain.errors import InvalidInput
from mainspring.domain.kinds.kind import CallPolicy, Fact, Kind
from mainspring.domain.kinds.tcp import Host, host_and_port
from mainspring.domain.run import BODY_CAP_DEFAULT, TIMEOUT_MS_DEFAULT, Action, BodyCap, Condition, Timeout
from mainspring.domain.target import check_host

ANSWERS_MAX = 50
PORT = 53


class RecordType(StrEnum):
    A = "A"
    AAAA = "AAAA"
    CNAME = "CNAME"
    MX = "MX"
    TXT = "TXT"
    NS = "NS"
    SRV = "SRV"
    CAA = "CAA"


class AnswersMatch(StrEnum):
    ALL = "all"  # every expected answer is present; others may be too
    EXACT = "exact"  # every expected answer is present, and no other
    ANY = "any"  # at least one is present


class DnsAction(Action, frozen=True, omit_defaults=True, tag_field="kind", tag="dns"):
    """A record to look up, and the answers to expect."""

    host: Host
    record: Annotated[RecordType, About("Type of the record.")] = RecordType.A
    resolver: Annotated[
        str | None,
        About(
            "Address of the name server to ask, with a port if it is not 53. Empty: those of the system.",
            examples=("1.1.1.1", "[2606:4700:4700::1111]:53"),
        ),
    ] = None
    answers: Annotated[
        tuple[str, ...],
        About("Expected answers. Empty: any answer.", most=ANSWERS_MAX, examples=("192.0.2.7", "10 mail.example.com")),
    ] = ()
    answers_match: Annotated[
        AnswersMatch,
        About("Which expected answers must be found: all of them, all and no other (exact), or any."),
    ] = AnswersMatch.ALL
    timeout_ms: Timeout = TIMEOUT_MS_DEFAULT
    body_cap: BodyCap = BODY_CAP_DEFAULT
    condition: Condition = None


class DnsKind(Kind[DnsAction]):
    name = "dns"
    about = "Looks up a DNS record and compares the answers."
    action = DnsAction
    searched = ("host",)
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact("body.answers", "Answers as text, sorted: `192.0.2.7`, `10 mail.example.com`."),
        Fact("body.ttl", "Lowest time to live of the answers, in seconds."),
        Fact("body.rcode", "Response code: `NOERROR`, `NXDOMAIN`, `SERVFAIL`."),
        Fact("body.canonical_name", "Name that the answers belong to, after all CNAME records."),
        Fact("body.resolver", "Name server that answered."),
    )

    def check(self, action: DnsAction, policy: CallPolicy) -> DnsAction:
        if len(action.answers) > ANSWERS_MAX:
            raise InvalidInput(
                f"{len(action.answers)} answers are expected; at most {ANSWERS_MAX} are allowed; expect fewer",
                field="answers",
            )
        where = None
        if action.resolver:
            address, port = resolver_of(action.resolver)
            where = address if port == PORT else host_and_port(address, port)
        return replace(
            action,
            host=check_host(action.host.rstrip(".")),
            record=str(action.record).upper(),
            resolver=where,
            answers=tuple(dict.fromkeys(compared(each) for each in action.answers if each.strip())),
        )

    def host_key(self, action: DnsAction) -> str:
        return "" if action.resolver is None else host_and_port(*resolver_of(action.resolver))

    def summary(self, action: DnsAction) -> str:
        through = f" from {action.resolver}" if action.resolver else ""
        return f"dns {action.record} {action.host}{through}"


def resolver_of(text: str) -> tuple[str, int]:
    """Address and port of a name server. Raises InvalidInput: a name would have to be looked up first."""
    host, port = text.strip(), str(PORT)
    if host.startswith("[") and "]" in host:
        host, _, rest = host[1:].partition("]")
        port = rest.removeprefix(":") or port
    elif host.count(":") == 1:
        host, _, port = host.partition(":")
    try:
        address = ip_address(host)
    except ValueError:
        address = None
    if address is None or "%" in host or not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65_535:
        raise InvalidInput(
            f"resolver {text[:60]!r} is not an address; a name server is given by its address, such as 1.1.1.1 or "
            "[2606:4700:4700::1111]:53; correct it, or leave it out to use those of the system",
            field="resolver",
            value=text[:60],
        )
    return str(address), int(port)


def compared(answer: str) -> str:
    """An answer in the form that is compared and shown: one space, no final dot, addresses in their short form."""
    text = " ".join(answer.split()).rstrip(".")
    try:
        return str(ip_address(text))
    except ValueError:
        return text


def missing_of(expected: tuple[str, ...], found: tuple[str, ...], match: AnswersMatch) -> str:
    """What is wrong with the answers; "" if they are as expected. Names are compared without regard to case."""
    if not expected:
        return ""
    wanted = {each.lower(): each for each in expected}
    got = {each.lower(): each for each in found}
    absent = [text for key, text in wanted.items() if key not in got]
    if match is AnswersMatch.ANY:
        return "" if len(absent) < len(wanted) else f"none of {_listed(expected)} is among the answers"
    if absent:
        return f"{_listed(absent)} is not among the answers"
    others = [text for key, text in got.items() if key not in wanted]
    return f"{_listed(others)} was not expected" if others and match is AnswersMatch.EXACT else ""


def _listed(texts: tuple[str, ...] | list[str]) -> str:
    return ", ".join(repr(each[:100]) for each in texts[:5])
