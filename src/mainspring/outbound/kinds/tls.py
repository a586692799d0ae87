"""Make the call of kind `tls`: a handshake, and the facts of the certificates that the peer presents.

A refused certificate is read anyway, over a second connection that verifies nothing and sends nothing: a user who
reads about a failed check needs to know what is wrong with the certificate.
"""

import ssl

from mainspring.domain.kinds.expiry import EXPIRING, expiry_of
from mainspring.domain.kinds.tls import TlsAction
from mainspring.domain.run import Outcome, Request
from mainspring.outbound.kinds.call import CallFault, CallProgress, run_call
from mainspring.outbound.kinds.certificate import certificate_facts, chain_facts, tls_fault
from mainspring.outbound.kinds.dial import Dialer, PeerStream, tls_context


class TlsCaller:
    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer

    async def call(self, request: Request) -> Outcome:
        action = request.action
        assert isinstance(action, TlsAction)
        return await run_call(action, lambda progress: self._look(action, request.tenant_id, progress))

    async def _look(self, action: TlsAction, tenant_id: str, progress: CallProgress) -> None:
        refusal: CallFault | None = None
        try:
            await self._shake_hands(action, tenant_id, progress, verifies=True)
        except ssl.SSLCertVerificationError as fault:
            refusal = tls_fault(fault)
            await self._read_unverified(action, tenant_id, progress)
            progress.facts["chain_error"] = fault.verify_message or str(fault.reason)
        days_left = progress.facts.get("days_left")
        expiry = None if days_left is None else expiry_of(days_left, action.warn_days, action.fail_days)
        if expiry is not None and expiry[0]:
            raise CallFault(EXPIRING, expiry[1])
        if refusal is not None and action.verify:
            raise refusal
        if expiry is not None:
            progress.warning = (EXPIRING, expiry[1])

    async def _read_unverified(self, action: TlsAction, tenant_id: str, progress: CallProgress) -> None:
        try:
            await self._shake_hands(action, tenant_id, progress, verifies=False)
        except ssl.SSLError as fault:
            raise tls_fault(fault) from None

    async def _shake_hands(self, action: TlsAction, tenant_id: str, progress: CallProgress, *, verifies: bool) -> None:
        """Raises ssl.SSLCertVerificationError if the certificate is refused, CallFault for every other failure."""
        connected = await self._dialer.connect(action.host, action.port, tenant_id, progress)
        progress.waits_for = "the TLS handshake"
        context = tls_context(self._dialer.ca_file, verifies=verifies)
        try:
            stream = await PeerStream.open(connected, context, action.server_name or action.host)
        except ssl.SSLCertVerificationError:
            raise
        except (ssl.SSLError, OSError) as fault:
            raise tls_fault(fault) from None
        try:
            progress.mark("tls_us")
            peer = stream.writer.get_extra_info("ssl_object")
            now = self._dialer.clock()
            progress.facts = certificate_facts(peer, now) | {"chain": chain_facts(peer, now), "chain_error": None}
        finally:
            stream.close()

    async def aclose(self) -> None:
        """Nothing is kept between calls."""
