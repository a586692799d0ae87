"""Lines of the log, as a process leaves them behind."""

import json
import re
import socket
import subprocess
import sys

from mainspring.observe import METRICS

WRITE = """
from mainspring.observe import set_up_logging
import structlog
set_up_logging("json", "info")
structlog.get_logger().info("first", text="x" * 20_000)
structlog.get_logger().info("second")
"""

WARN = """
import logging
from mainspring.observe import set_up_logging
set_up_logging("json", "info")
logging.getLogger("uvicorn.error").warning("Invalid %s", "request")
logging.getLogger("uvicorn.error").info("chatter")
try:
    raise OSError("too many open files")
except OSError:
    logging.getLogger("asyncio").exception("accept\\nfailed")
"""


def test_what_libraries_say_is_one_line_of_json_each() -> None:
    done = subprocess.run([sys.executable, "-c", WARN], capture_output=True, check=True)
    first, second = [json.loads(line) for line in done.stderr.splitlines()]

    assert (first["event"], first["library"], first["text"]) == ("library warned", "uvicorn.error", "Invalid request")
    assert second["text"] == "accept\nfailed"
    assert "OSError: too many open files" in second["exception"]


def test_each_line_is_one_write_so_that_a_killed_process_leaves_no_half_line() -> None:
    """Unbuffered, as containers run it; a packet is a write."""
    reader, writer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with reader, writer:
        subprocess.run([sys.executable, "-u", "-c", WRITE], stderr=writer.fileno(), check=True)
        packets = [reader.recv(1_000_000) for _ in range(2)]

    assert [json.loads(packet)["event"] for packet in packets] == ["first", "second"]
    assert [packet[-1:] for packet in packets] == [b"\n", b"\n"]


def test_every_metric_has_a_prometheus_name_of_its_own() -> None:
    names = [name for _, name, _, _ in METRICS.values()]

    assert [name for name in names if not re.fullmatch(r"mainspring_[a-z_]+", name)] == []
    assert len(set(names)) == len(names)
