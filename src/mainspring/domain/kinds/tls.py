"""Kind `tls`: a TLS handshake, and what the certificate of the peer says."""

from typing import Annotated, ClassVar

from msgspec.structs import replace

from mainspring.domain.config_field import About
from mainspring.domain.kinds.expiry import FailDays, WarnDays, check_days
from mainspring.domain.kinds.kind import CallPolicy, Fact, Kind
from mainspring.domain.kinds.tcp import Host, Port, host_and_port
from mainspring.domain.run import BODY_CAP_DEFAULT, TIMEOUT_MS_DEFAULT, Action, BodyCap, Condition, Timeout
from mainspring.domain.target import check_host


class TlsAction(Action, frozen=True, omit_defaults=True, tag_field="kind", tag="tls"):
    """A handshake to make, and how long the certificate must still be valid."""

    host: Host
    port: Port = 443
    server_name: Annotated[
        str | None, About("Name to ask for and to verify, if it is not the host.", examples=("www.example.com",))
    ] = None
    verify: Annotated[
        bool, About("Whether an invalid certificate chain is a failure. Otherwise it is a fact of the result.")
    ] = True
    warn_days: WarnDays = 14
    fail_days: FailDays = 0
    timeout_ms: Timeout = TIMEOUT_MS_DEFAULT
    body_cap: BodyCap = BODY_CAP_DEFAULT
    condition: Condition = None


class TlsKind(Kind[TlsAction]):
    name = "tls"
    about = "Makes a TLS handshake and reads the certificate chain."
    action = TlsAction
    searched = ("host",)
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact("body.days_left", "Whole days until the certificate expires; negative if it has expired."),
        Fact("body.issuer", "Issuer of the certificate."),
        Fact("body.subject", "Subject of the certificate."),
        Fact("body.names", "Names and addresses that the certificate is for."),
        Fact("body.not_after", "When the certificate expires."),
        Fact("body.version", "Version of TLS."),
        Fact("body.chain", "Certificates of the chain, each with `subject`, `issuer` and `days_left`."),
        Fact("body.chain_error", "Why the chain is invalid; null if it is valid."),
    )

    def check(self, action: TlsAction, policy: CallPolicy) -> TlsAction:
        check_days(action.warn_days, action.fail_days)
        name = check_host(action.server_name, "server_name") if action.server_name else None
        return replace(action, host=check_host(action.host), server_name=name)

    def host_key(self, action: TlsAction) -> str:
        return host_and_port(action.host, action.port)

    def summary(self, action: TlsAction) -> str:
        asked = f" as {action.server_name}" if action.server_name else ""
        return f"tls {self.host_key(action)}{asked}"
