"""Ping 127.0.0.1 in a network namespace whose sysctl allows it, and print the outcomes: see `test_ping.py`."""

import asyncio
import subprocess
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

import msgspec

from mainspring.domain.kinds.ping import PingAction
from mainspring.domain.run import Request
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.kinds.dial import Dialer
from mainspring.outbound.kinds.ping import PingCaller

NOW = datetime(2030, 1, 1, tzinfo=UTC)


async def main() -> None:
    guard = AddressGuard((ip_network("127.0.0.0/8"), ip_network("::1/128"), ip_network("192.0.2.0/24")))
    caller = PingCaller(Dialer(guard, clock=lambda: NOW))
    for host in ("127.0.0.1", "::1", "192.0.2.1"):
        action = PingAction(host, spacing_ms=100, condition="body.loss == 0.0")
        outcome = await caller.call(Request("tn_1", "ep_1", "slot", NOW, 1, action))
        print(msgspec.json.encode(outcome).decode())


if __name__ == "__main__":
    Path("/proc/sys/net/ipv4/ping_group_range").write_text("0 2147483647")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    asyncio.run(main())
