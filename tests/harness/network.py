"""Hosts of our own, and a switch between them whose cables can be pulled: machines that vanish without a goodbye.

Every host is a network namespace with one address. A thread that is on a host reaches the addresses of that network
and nothing else; what it starts is there, too. Namespaces have no name, and end with the last process in them: nothing
is left behind, however the tests end. The machine's own network is not touched.

    with Network("server", "worker") as network:
        with network.on("worker"):
            nursery = stage.nursery()
        with network.on("server"):
            ... connect to network.address("worker") ...
            network.pull("worker")      every packet from and to the host is lost; neither side hears of it
            network.plug("worker")

Needs root, Linux, and `ip` of iproute2; `why_not()` shows what is missing.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import Self

NEW_NETWORK = 0x40000000  # CLONE_NEWNET; Python knows unshare and setns only since 3.12
OURS = "/proc/thread-self/ns/net"
PREFIX = "10.77.0."
NETWORK = f"{PREFIX}0/24"
SWITCH = "switch"
_libc = ctypes.CDLL(None, use_errno=True)


class Network:
    def __init__(self, *hosts: str) -> None:
        self._hosts = hosts
        self._namespaces: dict[str, int] = {}

    def address(self, host: str) -> str:
        return f"{PREFIX}{1 + self._hosts.index(host)}"

    @contextmanager
    def on(self, host: str) -> Iterator[None]:
        """This thread, and every process and thread that it starts, is on that host."""
        before = os.open(OURS, os.O_RDONLY)
        _call(_libc.setns, self._namespaces[host], NEW_NETWORK)
        try:
            yield
        finally:
            _call(_libc.setns, before, NEW_NETWORK)
            os.close(before)

    def pull(self, host: str) -> None:
        """Take a host's cable out of the switch: its link stays up, and its packets go nowhere."""
        self._ip(SWITCH, "link", "set", f"to-{host}", "nomaster")

    def plug(self, host: str) -> None:
        self._ip(SWITCH, "link", "set", f"to-{host}", "master", SWITCH)

    def __enter__(self) -> Self:
        for name in (SWITCH, *self._hosts):
            self._namespaces[name] = _new_namespace()
        self._ip(SWITCH, "link", "add", "name", SWITCH, "type", "bridge")
        self._ip(SWITCH, "link", "set", SWITCH, "up")
        for host in self._hosts:
            there = f"/proc/{os.getpid()}/fd/{self._namespaces[host]}"
            veth = ("type", "veth", "peer", "name", "eth0", "netns", there)
            self._ip(SWITCH, "link", "add", "name", f"to-{host}", *veth)
            self._ip(SWITCH, "link", "set", f"to-{host}", "master", SWITCH, "up")
            self._ip(host, "address", "add", f"{self.address(host)}/24", "dev", "eth0")
            self._ip(host, "link", "set", "eth0", "up")
            self._ip(host, "link", "set", "lo", "up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for namespace in self._namespaces.values():
            os.close(namespace)

    def _ip(self, host: str, *arguments: str) -> None:
        with self.on(host):
            done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"


def why_not() -> str:
    """What keeps this machine from having hosts; nothing if it can have them."""
    if sys.platform != "linux" or shutil.which("ip") is None:
        return "hosts of our own need Linux and ip of iproute2"
    try:
        with Network("probe"):
            return ""
    except (OSError, AssertionError) as fault:
        return f"hosts of our own need root and network namespaces: {fault}"


def _new_namespace() -> int:
    """Made by a thread that ends in it; a descriptor keeps it alive."""

    def make() -> int:
        _call(_libc.unshare, NEW_NETWORK)
        return os.open(OURS, os.O_RDONLY)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(make).result()


def _call(function: Callable[..., int], *arguments: int) -> None:
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
