"""What the load client costs beside peers: raw sockets, and aiohttp that only reads. Ratios, since machines differ.

A client that needs much CPU looks like a server that stalls; CPU of the client's own thread is what counts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import aiohttp
import pytest
from aiohttp import web

from stackctl.adapters.http import AiohttpClient
from stackctl.core.verify.wire import Burst, HttpRequest, StreamRequest, Watch
from tests.servers import ToyServer

STREAMS, EVENTS = 60, 100
EVENT = b'data: {"id": "x", "choices": [{"index": 0, "delta": {"content": "word"}, "finish_reason": null}]}\n\n'
pytestmark = pytest.mark.slow


async def paced(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for _ in range(EVENTS):
        await response.write(EVENT)
        await asyncio.sleep(0.005)
    return response


def ours(url: str) -> None:
    request = HttpRequest("POST", f"{url}/v1/chat/completions", body=b"{}")
    streams = tuple(StreamRequest(str(n), request) for n in range(STREAMS))
    result = AiohttpClient().burst(Burst(streams, Watch()))
    assert [s.end for s in result.streams] == ["eof"] * STREAMS
    assert all(sum(len(c) for _, c in s.chunks) == EVENTS * len(EVENT) for s in result.streams)


def reading_only(url: str) -> None:
    async def one(session: aiohttp.ClientSession) -> None:
        async with session.post(f"{url}/v1/chat/completions", data=b"{}") as answer:
            async for _ in answer.content.iter_any():
                pass

    async def every() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True)) as session:
            await asyncio.gather(*(one(session) for _ in range(STREAMS)))

    asyncio.run(every())


def sockets(url: str) -> None:
    async def one(host: str, port: int) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
        )
        while await reader.read(1 << 16):
            pass
        writer.close()

    async def every() -> None:
        host, port = url.removeprefix("http://").split(":")
        await asyncio.gather(*(one(host, int(port)) for _ in range(STREAMS)))

    asyncio.run(every())


def cost(client: Callable[[str], None], url: str) -> float:
    """Seconds of CPU of this thread, the least of three."""
    spent = []
    for _ in range(3):
        began = time.thread_time()
        client(url)
        spent.append(time.thread_time() - began)
    return min(spent)


def test_the_cost_of_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    with ToyServer(stream=paced) as there:
        mine, aio, raw = (cost(client, there.url) for client in (ours, reading_only, sockets))
    with capsys.disabled():
        event = 1e6 / (STREAMS * EVENTS)
        print(
            f"\nus CPU an event: ours {mine * event:.0f}, aiohttp reading {aio * event:.0f}, sockets {raw * event:.0f}"
        )
    assert mine < 3 * aio
    assert mine < 8 * raw
