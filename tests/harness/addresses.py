"""Find ports for servers that are stopped and started again during a test.

Such a port must lie outside the range the kernel hands to outgoing connections: while the server is
down, one of the thousands of calls a test makes could otherwise take its port, and it could not return.
"""

import random
import socket
from pathlib import Path

HOST = "127.0.0.1"
PORT_MIN = 15_000  # above what a machine usually runs for itself
EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
EPHEMERAL_PORT_MIN = 32_768  # Linux's default, and below that of macOS


def free_port() -> int:
    """Return a loopback port nobody listens on now; another process may still be quicker, so callers retry."""
    port_max = _ephemeral_port_min() - 1
    if port_max - PORT_MIN < 1_000:  # an operator widened the range: there is no quiet corner left
        port_max = 65_535
    draw = random.SystemRandom()  # parallel test processes share no seed, or all would try the same ports
    for _ in range(100):
        port = draw.randint(PORT_MIN, port_max)
        if _is_free(port):
            return port
    raise RuntimeError(f"no free port between {PORT_MIN} and {port_max} in 100 draws; is something leaking servers?")


def _ephemeral_port_min() -> int:
    try:
        return int(EPHEMERAL_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return EPHEMERAL_PORT_MIN


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
