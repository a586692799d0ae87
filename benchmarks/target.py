"""A fast keep-alive target in a process of its own: answers every request with 200 and a 200-byte JSON body."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BODY = b'{"status":"ok","queue_depth":12,"latency_ms":34,"note":"' + b"x" * 142 + b'"}'
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
    + str(len(BODY)).encode()
    + b"\r\n\r\n"
    + BODY
)


class Target(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.WriteTransport = transport  # type: ignore[assignment]  # a stream's is one

    def data_received(self, data: bytes) -> None:
        self._transport.write(ANSWER)


@contextmanager
def running_target(address: str = "127.0.0.1") -> Iterator[str]:
    """The URL of a target that lives as long as the block; 0.0.0.0 is every address of the machine."""
    process = subprocess.Popen([sys.executable, __file__, address], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://{address}:{int(process.stdout.readline())}/"
    finally:
        process.kill()
        process.wait()


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Target, sys.argv[1], 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.run(serve())
    except ImportError:
        asyncio.run(serve())
