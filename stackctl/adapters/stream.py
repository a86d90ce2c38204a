"""One stream of a burst while it is open: sends, records bytes with times, notices progress, knows how it ended.

It decides nothing about what the bytes mean; whether an event is progress is asked of core.
"""

from __future__ import annotations

import asyncio
import os
import time

import aiohttp

from stackctl.core.verify.reply import is_progress
from stackctl.core.verify.sse import Splitter
from stackctl.core.verify.wire import End, HttpRequest, Stream, StreamRequest


def plain(request: HttpRequest) -> dict[str, str]:
    """Headers as they go out: the only place where a token is revealed."""
    headers = {"Accept-Encoding": "identity", **request.headers}
    if request.token is not None:
        headers["Authorization"] = f"Bearer {request.token.reveal()}"
    return headers


class LiveStream:
    """`sent`, `last`: when the request went out and when the stream last progressed, in monotonic seconds."""

    def __init__(self, request: StreamRequest) -> None:
        self.request = request
        self.sent: float | None = None
        self.last: float | None = None
        self.ended = False
        self._began = 0.0
        self._splitter = Splitter()
        self._chunks: list[tuple[float, bytes]] = []
        self._status: int | None = None
        self._headers: dict[str, str] = {}
        self._head_at: float | None = None
        self._end: End = "open"
        self._end_at = 0.0
        self._error: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopped_as: End | None = None

    def stop(self, end: End) -> None:
        """Close the connection from this side; the stream then counts as ended by `end`."""
        if not self.ended and self._task is not None:
            self._stopped_as = end
            self._task.cancel()

    async def run(self, session: aiohttp.ClientSession, began: float) -> None:
        """To its end, whichever. Raises only when somebody else cancels it."""
        self._task, self._began = asyncio.current_task(), began
        timer: asyncio.TimerHandle | None = None
        try:
            await asyncio.sleep(max(0.0, began + self.request.start_at - time.monotonic()))
            self.sent = time.monotonic()
            if self.request.cancel_after is not None:
                timer = asyncio.get_running_loop().call_later(self.request.cancel_after, self.stop, "cancelled")
            await self._receive(session)
            self._end = "eof"
        except asyncio.CancelledError:
            if self._stopped_as is None:
                raise
            self._end = self._stopped_as
        except (aiohttp.ClientError, OSError, ValueError) as error:
            self._end = _end_of(error)
            self._error = words(error)
        finally:
            self.ended = True
            self._end_at = self._since(time.monotonic())
            if timer:
                timer.cancel()

    async def _receive(self, session: aiohttp.ClientSession) -> None:
        request = self.request.request
        async with session.request(
            request.method, request.url, data=request.body, headers=plain(request), allow_redirects=False
        ) as answer:
            self._status, self._head_at = answer.status, self._since(time.monotonic())
            self._headers = {name.lower(): value for name, value in answer.headers.items()}
            async for chunk in answer.content.iter_any():
                now = time.monotonic()
                self._chunks.append((self._since(now), chunk))
                if any(is_progress(event) for event in self._splitter.feed(chunk)):
                    self.last = now

    def _since(self, now: float) -> float:
        return now - (self.sent if self.sent is not None else now)

    def recorded(self) -> Stream:
        """What is kept. A token that the server echoed is blotted out."""
        chunks, headers, error = tuple(self._chunks), self._headers, self._error
        token = self.request.request.token
        if token is not None:
            secret = token.reveal()
            whole = b"".join(chunk for _, chunk in chunks)
            if secret.encode() in whole:
                chunks = ((chunks[-1][0], whole.replace(secret.encode(), b"***")),)
            headers = {name: value.replace(secret, "***") for name, value in headers.items()}
            error = error.replace(secret, "***") if error else None
        return Stream(
            id=self.request.id,
            status=self._status,
            headers=headers,
            head_at=self._head_at,
            chunks=chunks,
            end=self._end,
            end_at=self._end_at,
            error=error,
            started_at=(self.sent or self._began) - self._began,
        )


def _end_of(error: Exception) -> End:
    """Refused: no connection came about. Anything later is a reset."""
    if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)):
        return "refused"
    return "reset"


def words(error: Exception) -> str:
    """An error in the words of the operating system where it has some."""
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.errno:
        return os.strerror(error.os_error.errno)
    return f"{type(error).__name__}: {error}".removesuffix(": ")
