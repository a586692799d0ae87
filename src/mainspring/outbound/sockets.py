"""Notify libcurl when its sockets are ready, within a running asyncio loop.

On Linux all sockets are in one epoll, and the loop watches only that: one callback serves every ready socket, and a
kept connection stays registered between two requests. Compared with `loop.add_reader` for each socket this saves a
third of the CPU of a call (34 us instead of 53, 50 calls in flight). On other systems the loop watches each socket.
"""

import asyncio
import select
from collections.abc import Callable
from contextlib import suppress

from pycurl import CSELECT_IN, CSELECT_OUT, POLL_IN, POLL_INOUT, POLL_OUT

Act = Callable[[int, int], None]  # (socket, CSELECT bits)

if hasattr(select, "epoll"):
    _EPOLL_EVENTS = {POLL_IN: select.EPOLLIN, POLL_OUT: select.EPOLLOUT, POLL_INOUT: select.EPOLLIN | select.EPOLLOUT}
    _READABLE = select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR


class EpollSockets:
    """Sockets in a separate epoll.

    A socket libcurl no longer asks about stays registered, because it will most likely carry the next request. The
    kernel removes it when it is closed. If it becomes readable while idle, the peer has closed it, and it is dropped.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, act: Act, after: Callable[[], None], on_lost: Callable[[int], None]
    ) -> None:
        self._loop = loop
        self._act = act
        self._after = after
        self._on_lost = on_lost
        self._epoll = select.epoll()
        self._wanted: dict[int, int] = {}  # 0: idle
        loop.add_reader(self._epoll.fileno(), self.look)

    def watch(self, what: int, fd: int, multi: object, data: object) -> None:
        """libcurl's socket callback: it now waits for `what` on `fd`."""
        events = _EPOLL_EVENTS.get(what, 0)
        if not events:
            self._wanted[fd] = 0
            return
        if fd in self._wanted:
            try:
                self._epoll.modify(fd, events)
            except FileNotFoundError:  # the number belongs to a new socket now
                self._epoll.register(fd, events)
        else:
            self._epoll.register(fd, events)
        self._wanted[fd] = events

    def look(self) -> None:
        """Serves every ready socket. Calls `act` for those libcurl waits for, `on_lost` for idle ones."""
        for fd, events in self._epoll.poll(0):
            if self._wanted.get(fd):
                bits = CSELECT_IN if events & _READABLE else 0
                self._act(fd, bits | CSELECT_OUT if events & select.EPOLLOUT else bits)
            else:
                with suppress(OSError):  # closed while serving an earlier socket of this batch
                    self._epoll.unregister(fd)
                    self._on_lost(fd)
                self._wanted.pop(fd, None)
        self._after()

    def close(self) -> None:
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()


class LoopSockets:
    """Sockets watched by the loop one by one, for systems without epoll."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, act: Act, after: Callable[[], None], on_lost: Callable[[int], None]
    ) -> None:
        self._loop = loop
        self._act = act
        self._after = after
        self._wanted: dict[int, int] = {}

    def watch(self, what: int, fd: int, multi: object, data: object) -> None:
        new = what & POLL_INOUT
        old = self._wanted.pop(fd, 0)
        if new & POLL_IN and not old & POLL_IN:
            self._loop.add_reader(fd, self._on_ready, fd, CSELECT_IN)
        elif old & POLL_IN and not new & POLL_IN:
            self._loop.remove_reader(fd)
        if new & POLL_OUT and not old & POLL_OUT:
            self._loop.add_writer(fd, self._on_ready, fd, CSELECT_OUT)
        elif old & POLL_OUT and not new & POLL_OUT:
            self._loop.remove_writer(fd)
        if new:
            self._wanted[fd] = new

    def look(self) -> None:
        """Does nothing: idle sockets are not watched here, so lost ones are not detected."""

    def _on_ready(self, fd: int, bits: int) -> None:
        if self._wanted.get(fd):
            self._act(fd, bits)
            self._after()

    def close(self) -> None:
        for fd in self._wanted:
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)
        self._wanted.clear()


DefaultSockets = EpollSockets if hasattr(select, "epoll") else LoopSockets
