"""The hosts that the fault tests pull the cables of."""

import socket

import pytest

from tests.harness.network import Network, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "hosts can be made")


def test_hosts_hear_one_another_until_a_cable_is_pulled_and_again_once_it_is_plugged_in() -> None:
    with Network("here", "there") as network:
        with network.on("there"):
            server = socket.create_server((network.address("there"), 7_000))
        with network.on("here"):
            near = socket.create_connection(server.getsockname()[:2], 5)
        far, _ = server.accept()
        with server, near, far:
            near.settimeout(0.2)
            far.sendall(b"one")
            assert near.recv(10) == b"one"

            network.pull("here")
            far.sendall(b"two")
            with pytest.raises(TimeoutError):
                near.recv(10)

            network.plug("here")
            near.settimeout(10)
            assert near.recv(10) == b"two"


def test_thread_is_on_a_host_while_the_block_lasts_and_reaches_no_other_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, Network("here") as network:
        with network.on("here"), pytest.raises(ConnectionRefusedError):
            socket.create_connection(server.getsockname(), 5)

        socket.create_connection(server.getsockname(), 5).close()
