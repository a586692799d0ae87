"""What one HTTP call costs: our caller against a fast keep-alive target in another process.

    python benchmarks/bare_client.py [--calls 20000] [--in-flight 1 10 50 200] [--uvloop] [--signed] [--profile]

Prints calls a second and microseconds of CPU a call in the calling process (user and system), for our caller and,
in the same run, for a bare pycurl multi loop that does nothing but exchange bytes: the floor. The ratio is what counts.
"""

import argparse
import asyncio
import cProfile
import pstats
import subprocess
import sys
import time
from datetime import UTC, datetime
from ipaddress import ip_network

import pycurl

from mainspring.domain.run import HttpAction, Request, RunStatus
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.signing import generate_secret
from mainspring.outbound.vault import AesVault, KeyRing

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n"
    b'Server: bench\r\nDate: Tue, 01 Jan 2030 00:00:00 GMT\r\n\r\n{"status":"ok"}'
)


class Target(asyncio.Protocol):
    """Answers every packet; good enough for small requests that are not pipelined."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.WriteTransport = transport  # type: ignore[assignment]  # a stream's is one

    def data_received(self, data: bytes) -> None:
        self._transport.write(ANSWER)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Target, "127.0.0.1", 0, backlog=1_024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def floor(url: str, calls: int, in_flight: int) -> tuple[float, float]:
    """The same exchanges with nothing around them."""
    multi = pycurl.CurlMulti()
    multi.setopt(pycurl.M_MAXCONNECTS, in_flight)
    handles = []
    for _ in range(in_flight):
        curl = pycurl.Curl()
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.HEADERFUNCTION, bytearray().extend)
        curl.setopt(pycurl.WRITEFUNCTION, bytearray().extend)
        handles.append(curl)
        multi.add_handle(curl)
    done = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while done < calls:
        multi.perform()
        _, complete, failed = multi.info_read()
        assert not failed, failed
        for curl in complete:
            done += 1
            multi.remove_handle(curl)
            multi.add_handle(curl)
        if not complete:
            multi.select(1.0)
    return time.perf_counter() - wall, time.process_time() - cpu


async def ours(url: str, calls: int, in_flight: int, signed: bool) -> tuple[float, float]:
    vault = AesVault(KeyRing(b"k" * 32))
    guard = AddressGuard((ip_network("127.0.0.0/8"),))
    caller = HttpCaller(guard, vault, clock=lambda: datetime.now(UTC), connections_max=max(512, in_flight))
    keys = (vault.seal(generate_secret(), "t|signing"),) if signed else ()
    slot_at = datetime(2030, 1, 1, tzinfo=UTC)

    async def work(count: int) -> None:
        for _ in range(count):
            # A new action each time, equal to the last: what a store decodes from its rows.
            action = HttpAction(url=url, method="POST", body='{"a":1}') if signed else HttpAction(url=url)
            outcome = await caller.call(Request("t", "ep_1", "ep_1_1893456000000000", slot_at, 1, action, keys))
            assert outcome.status is RunStatus.SUCCESS, outcome

    await asyncio.gather(*(work(2) for _ in range(in_flight)))
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work(calls // in_flight) for _ in range(in_flight)))
    spent = time.perf_counter() - wall, time.process_time() - cpu
    await caller.aclose()
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1, 10, 50, 200])
    parser.add_argument("--uvloop", action="store_true", help="use uvloop on both sides")
    parser.add_argument("--signed", action="store_true", help="POST a signed JSON body instead of a GET")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    run = asyncio.run
    if arguments.uvloop:
        import uvloop

        run = uvloop.run
    if arguments.serve:
        run(serve())
        return
    command = [sys.executable, __file__, "--serve", *(["--uvloop"] if arguments.uvloop else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as target:
        assert target.stdout is not None
        url = f"http://127.0.0.1:{target.stdout.readline().strip()}/x"
        try:
            for in_flight in arguments.in_flight:
                calls = arguments.calls // in_flight * in_flight
                bare_wall, bare_cpu = floor(url, calls, in_flight)
                profile = cProfile.Profile() if arguments.profile else None
                if profile is not None:
                    profile.enable()
                wall, cpu = run(ours(url, calls, in_flight, arguments.signed))
                if profile is not None:
                    profile.disable()
                    pstats.Stats(profile).sort_stats("tottime").print_stats(25)
                print(
                    f"{in_flight:4} in flight: {calls / wall:7.0f} calls/s, {cpu / calls * 1e6:5.1f} us CPU a call; "
                    f"bare libcurl {calls / bare_wall:7.0f}/s, {bare_cpu / calls * 1e6:5.1f} us; "
                    f"{(calls / wall) / (calls / bare_wall):.0%} of its rate"
                )
        finally:
            target.terminate()


if __name__ == "__main__":
    main()
