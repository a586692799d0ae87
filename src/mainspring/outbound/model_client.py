"""The HTTP client of a model's library: limits the bytes of every reply.

A library reads a reply to its end before anything else checks it, so an endless reply would grow the memory until the
session times out. Compressed replies are not requested, and are refused: a few kilobytes may become gigabytes.
"""

from collections.abc import AsyncIterator

from httpx2 import AsyncByteStream, AsyncClient, Limits, Request, Response, Timeout

REPLY_BYTES_MAX = 2_000_000  # REPLY_CHARS_MAX of text, each written as \uXXXX, and the envelope around it
CONNECT_S = 5.0


class ReplyTooLarge(Exception):
    """The library sees a failed request; `ModelClient.fault` has the cause."""


class ModelClient(AsyncClient):
    """The client of one session: its connections end with it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            timeout=Timeout(seconds, connect=min(seconds, CONNECT_S)),
            limits=Limits(max_keepalive_connections=1),
            headers={"accept-encoding": "identity"},
            event_hooks={"request": [self._refuse], "response": [self._bound]},
        )
        self.fault = ""

    async def _refuse(self, _: Request) -> None:
        """Libraries retry a failed request; the second reply would be as large."""
        if self.fault:
            raise ReplyTooLarge(self.fault)

    async def _bound(self, response: Response) -> None:
        encoding = response.headers.get("content-encoding", "identity").lower()
        if encoding != "identity":
            self.fault = f"the reply has the Content-Encoding {encoding[:40]!r}, although none was requested"
            raise ReplyTooLarge(self.fault)
        assert isinstance(response.stream, AsyncByteStream), "an asynchronous client has such streams"
        response.stream = _Bounded(response.stream, self)


class _Bounded(AsyncByteStream):
    def __init__(self, stream: AsyncByteStream, client: ModelClient) -> None:
        self._stream = stream
        self._client = client

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > REPLY_BYTES_MAX:
                self._client.fault = f"a reply of more than {REPLY_BYTES_MAX} bytes exceeds the limit"
                raise ReplyTooLarge(self._client.fault)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
