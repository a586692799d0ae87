"""Make the call of kind `dns` with dnspython: one question, within one deadline.

The name servers of the system are the operator's choice. A named one is an address that a tenant chose, so the address
guard decides on it. dnspython is imported with the first lookup.
"""

from contextlib import suppress
from typing import Any

from mainspring.domain.kinds.dns import AnswersMatch, DnsAction, compared, missing_of, resolver_of
from mainspring.domain.run import Outcome, Request
from mainspring.domain.text import clean_text
from mainspring.outbound.kinds.call import CallFault, CallProgress, fitted, run_call
from mainspring.outbound.kinds.dial import Dialer

ANSWERS_KEPT = 100
ANSWER_CHARS_MAX = 2_000


class DnsCaller:
    def __init__(self, dialer: Dialer) -> None:
        self._guard = dialer.guard

    async def call(self, request: Request) -> Outcome:
        action = request.action
        assert isinstance(action, DnsAction)
        return await run_call(action, lambda progress: self._look_up(action, progress))

    async def _look_up(self, action: DnsAction, progress: CallProgress) -> None:
        import dns.exception
        import dns.resolver

        progress.waits_for = f"the answer to {action.record} {action.host}"
        resolver = self._resolver(action, progress)
        try:
            answer = await resolver.resolve(
                f"{action.host}.",
                str(action.record),
                raise_on_no_answer=False,
                lifetime=action.timeout_ms / 1_000 + 1,  # the deadline of the call comes first
                search=False,
            )
        except dns.resolver.NXDOMAIN:
            progress.facts |= {"answers": [], "rcode": "NXDOMAIN"}
            raise CallFault("nxdomain", f"{action.host} does not exist") from None
        except dns.resolver.NoNameservers as fault:
            progress.facts |= {"answers": [], "rcode": "SERVFAIL"}
            raise CallFault("dns", f"no name server answered: {_last_error(fault)}") from None
        except dns.exception.Timeout:
            raise TimeoutError from None
        except (dns.exception.DNSException, OSError, ValueError) as fault:
            raise CallFault("dns", f"the lookup failed: {fault}") from None
        progress.mark("first_byte_us")
        _tell(action, answer, progress)

    def _resolver(self, action: DnsAction, progress: CallProgress) -> Any:
        import dns.asyncresolver
        import dns.resolver

        from mainspring.outbound.kinds.name_server import BoundedNameserver

        if action.resolver is None:
            try:
                resolver = dns.asyncresolver.Resolver()
            except (dns.resolver.NoResolverConfiguration, OSError) as fault:
                raise CallFault("dns", f"the system has no name servers: {fault}") from None
            resolver.nameservers = [BoundedNameserver(str(each), resolver.port) for each in resolver.nameservers]
            return resolver
        address, port = resolver_of(action.resolver)
        if (refusal := self._guard.refusal(address, port)) is not None:
            raise CallFault("blocked_address", f"not called: {refusal}")
        progress.address = address
        resolver = dns.asyncresolver.Resolver(configure=False)
        resolver.nameservers = [BoundedNameserver(address, port)]
        return resolver

    async def aclose(self) -> None:
        """Nothing is kept between calls."""


def _tell(action: DnsAction, answer: Any, progress: CallProgress) -> None:
    import dns.rcode

    found: list[str] = []
    ttl: int | None = None
    if answer.rrset is not None:
        found = sorted({compared(fitted(_text(each), ANSWER_CHARS_MAX)) for each in list(answer.rrset)[:ANSWERS_KEPT]})
        ttl = int(answer.rrset.ttl)
    kept = _within(found, action.body_cap)
    progress.address = progress.address or str(answer.nameserver or "") or None
    progress.is_cut = len(kept) < len(found)
    progress.facts |= {
        "answers": kept,
        "ttl": ttl,
        "rcode": dns.rcode.to_text(answer.response.rcode()),
        "canonical_name": str(answer.canonical_name).rstrip("."),
        "resolver": progress.address,
    }
    if not found:
        raise CallFault("no_answer", f"{action.host} has no record of type {action.record}")
    if wrong := missing_of(action.answers, tuple(found), AnswersMatch(action.answers_match)):
        raise CallFault("unexpected", f"{wrong}; the answers are {', '.join(found[:5])}")


def _text(record: Any) -> str:
    """One answer as people write it, without final dots."""
    match record.rdtype.name:
        case "TXT":
            return clean_text(b"".join(record.strings).decode("utf-8", "replace"), ANSWER_CHARS_MAX)
        case "MX":
            return f"{record.preference} {_name(record.exchange)}"
        case "SRV":
            return f"{record.priority} {record.weight} {record.port} {_name(record.target)}"
        case "CAA":
            return f"{record.flags} {record.tag.decode('ascii', 'replace')} {record.value.decode('utf-8', 'replace')}"
    return str(record.to_text()).rstrip(".")


def _name(name: Any) -> str:
    return str(name).rstrip(".") or "."


def _within(found: list[str], cap: int) -> list[str]:
    kept, size = [], 0
    for each in found:
        size += len(each.encode("utf-8", "replace")) + 3
        if size > cap:
            break
        kept.append(each)
    return kept


def _last_error(fault: Any) -> str:
    """The response of the last name server; dnspython stores it as (server, tcp, port, error, response)."""
    with suppress(KeyError, IndexError, AttributeError, TypeError):
        return str(fault.kwargs["errors"][-1][3])
    return str(fault)
