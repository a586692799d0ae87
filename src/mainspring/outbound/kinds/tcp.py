"""Make the call of kind `tcp`: connect, optionally over TLS, send, and read until the expected text.

What a peer sends beyond `body_cap` is not read. Closing does not wait for the peer.
"""

import ssl

from mainspring.domain.kinds.tcp import TcpAction, unescaped
from mainspring.domain.run import Outcome, Request
from mainspring.outbound.kinds.call import CallFault, CallProgress, fitted, run_call
from mainspring.outbound.kinds.certificate import certificate_facts, tls_fault
from mainspring.outbound.kinds.dial import Dialer, PeerStream, tls_context

CHUNK = 65_536


class TcpCaller:
    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer

    async def call(self, request: Request) -> Outcome:
        action = request.action
        assert isinstance(action, TcpAction)
        return await run_call(action, lambda progress: self._talk(action, request.tenant_id, progress))

    async def _talk(self, action: TcpAction, tenant_id: str, progress: CallProgress) -> None:
        connected = await self._dialer.connect(action.host, action.port, tenant_id, progress)
        progress.facts["connect_ms"] = round(progress.marks["connect_us"] / 1_000, 3)
        progress.waits_for = "the TLS handshake"
        context = tls_context(self._dialer.ca_file) if action.tls else None
        try:
            line = await PeerStream.open(connected, context, action.host)
        except (ssl.SSLError, OSError) as fault:
            raise tls_fault(fault) from None
        try:
            if action.tls:
                progress.mark("tls_us")
                progress.facts["tls"] = certificate_facts(
                    line.writer.get_extra_info("ssl_object"), self._dialer.clock()
                )
            await _exchange(action, line, progress)
        finally:
            line.close()

    async def aclose(self) -> None:
        """Nothing is kept between calls."""


async def _exchange(action: TcpAction, line: PeerStream, progress: CallProgress) -> None:
    if action.send is not None:
        progress.waits_for = "the peer to take what was sent"
        try:
            line.writer.write(unescaped(action.send, "send"))
            await line.writer.drain()
        except OSError as fault:
            raise CallFault("closed", f"the peer closed the connection while it was sent to: {fault}") from None
    if action.expect is None and not action.read:
        return
    wanted = unescaped(action.expect or "", "expect")
    progress.waits_for = f"{action.expect!r}" if action.expect else "the first bytes"
    heard = bytearray()
    try:
        is_found = await _hear(line, wanted, heard, action.body_cap, progress)
    finally:
        _tell(heard, action.body_cap, progress)
    if not is_found:
        raise CallFault("unexpected", f"the first {action.body_cap:,} bytes do not contain {action.expect!r}")


async def _hear(line: PeerStream, wanted: bytes, heard: bytearray, cap: int, progress: CallProgress) -> bool:
    """Reads until `wanted` was received (True) or the cap is reached (False)."""
    while len(heard) < max(cap, 1):
        try:
            part = await line.reader.read(min(CHUNK, max(cap, 1) - len(heard)))
        except (ssl.SSLError, OSError) as fault:
            raise CallFault("closed", f"the connection broke after {len(heard):,} bytes: {fault}") from None
        if not part:
            raise CallFault(
                "unexpected" if heard and wanted else "closed",
                f"the peer closed the connection after {len(heard):,} bytes, before {progress.waits_for}",
            )
        if not heard:
            progress.mark("first_byte_us")
        start = max(0, len(heard) - len(wanted))
        heard += part
        if heard.find(wanted, start) >= 0:
            return True
    return not wanted


def _tell(heard: bytearray, cap: int, progress: CallProgress) -> None:
    text = heard.decode("utf-8", "replace")
    banner = fitted(text, cap)
    progress.facts |= {"banner": banner, "bytes": len(heard)}
    progress.is_cut = len(banner) < len(text) or len(heard) >= cap
    progress.bytes_seen = len(heard)
