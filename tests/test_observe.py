"""Lines of the log, as a process leaves them behind."""

import json
import socket
import subprocess
import sys

WRITE = """
from mainspring.observe import set_up_logging
import structlog
set_up_logging("json", "info")
structlog.get_logger().info("first", text="x" * 20_000)
structlog.get_logger().info("second")
"""


def test_each_line_is_one_write_so_that_a_killed_process_leaves_no_half_line() -> None:
    """Unbuffered, as containers run it; a packet is a write."""
    reader, writer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with reader, writer:
        subprocess.run([sys.executable, "-u", "-c", WRITE], stderr=writer, check=True)
        packets = [reader.recv(1_000_000) for _ in range(2)]

    assert [json.loads(packet)["event"] for packet in packets] == ["first", "second"]
    assert [packet[-1:] for packet in packets] == [b"\n", b"\n"]
