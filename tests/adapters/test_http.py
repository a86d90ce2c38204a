"""The load client against real servers on loopback: ends, times, cancellations, the watch, secrets, Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from stackctl.adapters.http import AiohttpClient
from stackctl.core.names import Secret
from stackctl.core.verify.wire import Burst, BurstResult, HttpRequest, StreamRequest, Watch
from tests.servers import ToyServer, free_port

CLIENT = AiohttpClient()
TOKEN_EVENT = b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n'
ROLE_EVENT = b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n'
FAST = Watch(ttft=0.4, gap=0.2, wedge=5.0, canary_timeout=0.3)


def server(answer: Callable[[web.StreamResponse, web.Request], Awaitable[None]]) -> ToyServer:
    """Streams what `answer` writes; `answer` may wait for ever, the client's going ends it."""

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Echo": "sk-token"})
        await response.prepare(request)
        await answer(response, request)
        return response

    return ToyServer(stream=stream)


async def forever() -> None:
    await asyncio.Event().wait()


def post(url: str, token: Secret | None = None) -> HttpRequest:
    return HttpRequest("POST", f"{url}/v1/chat/completions", {"X-Request-ID": "7"}, b"{}", token)


def burst(url: str, count: int = 1, watch: Watch = FAST, cancel_after: float | None = None) -> BurstResult:
    streams = tuple(StreamRequest(f"s{n}", post(url), 0.0, cancel_after) for n in range(count))
    return CLIENT.burst(Burst(streams, watch))


async def says_three(response: web.StreamResponse, _request: web.Request) -> None:
    for _ in range(3):
        await response.write(TOKEN_EVENT)
        await asyncio.sleep(0.02)


def test_bytes_times_and_head() -> None:
    with server(says_three) as there:
        stream = burst(there.url).streams[0]
        sent = there.headers[0]
    assert (stream.status, stream.end, b"".join(c for _, c in stream.chunks)) == (200, "eof", 3 * TOKEN_EVENT)
    times = [at for at, _ in stream.chunks]
    assert times == sorted(times) and stream.head_at is not None and 0 < stream.head_at <= times[0] <= stream.end_at
    assert sent["Accept-Encoding"] == "identity" and sent["X-Request-ID"] == "7" and "Authorization" not in sent


def test_sixty_are_open_at_once() -> None:
    together: list[int] = []
    open_now = 0

    async def answer(response: web.StreamResponse, _request: web.Request) -> None:
        nonlocal open_now
        open_now += 1
        together.append(open_now)
        await response.write(TOKEN_EVENT)
        while max(together) < 60:
            await asyncio.sleep(0.01)

    with server(answer) as there:
        result = burst(there.url, 60, Watch(ttft=20, gap=20, wedge=20))
    assert max(together) == 60 and {s.end for s in result.streams} == {"eof"}
    assert result.loop_lag_p99 >= 0 and result.client_cpu > 0 and not result.file_limit


def test_starts_are_kept_and_cancellations_close_the_connection() -> None:
    gone = threading.Event()

    async def answer(response: web.StreamResponse, request: web.Request) -> None:
        await response.write(TOKEN_EVENT)
        try:
            await forever()
        finally:
            gone.set()

    with server(answer) as there:
        request = post(there.url)
        streams = (StreamRequest("a", request, 0.0, 0.1), StreamRequest("b", request, 0.2, 0.1))
        first, second = CLIENT.burst(Burst(streams, FAST)).streams
        assert gone.wait(5)
    assert (first.end, second.end) == ("cancelled", "cancelled")
    assert first.end_at >= 0.1 and second.started_at >= 0.2  # a busy machine is late, never early


def test_no_connection() -> None:
    stream = burst(f"http://127.0.0.1:{free_port()}").streams[0]
    assert (stream.status, stream.end, stream.chunks) == (None, "refused", ())
    assert stream.error == "Connection refused"


def reset(response: web.StreamResponse, request: web.Request) -> None:
    assert request.transport is not None
    request.transport.abort()


@pytest.mark.parametrize("said", [b"", TOKEN_EVENT])
def test_a_reset_in_the_middle(said: bytes) -> None:
    async def answer(response: web.StreamResponse, request: web.Request) -> None:
        if said:
            await response.write(said)
            await asyncio.sleep(0.05)
        reset(response, request)

    with server(answer) as there:
        stream = burst(there.url).streams[0]
    assert stream.end == "reset" and b"".join(c for _, c in stream.chunks) == said


def test_a_reset_before_the_head() -> None:
    async def stream(request: web.Request) -> web.StreamResponse:
        reset(web.StreamResponse(), request)
        return web.Response()

    with ToyServer(stream=stream) as there:
        result = burst(there.url).streams[0]
    assert (result.status, result.end) == (None, "reset")


def test_an_error_status_is_an_answer() -> None:
    async def stream(request: web.Request) -> web.StreamResponse:
        return web.Response(status=503, text="no workers", headers={"x-smg-error-code": "server_selection_failed"})

    with ToyServer(stream=stream) as there:
        result = burst(there.url).streams[0]
    assert (result.status, result.end, result.chunks[0][1]) == (503, "eof", b"no workers")
    assert result.headers["x-smg-error-code"] == "server_selection_failed"


async def role_and_comments(response: web.StreamResponse, _request: web.Request) -> None:
    await response.write(ROLE_EVENT)
    while True:
        await response.write(b": keep-alive\n\n")
        await asyncio.sleep(0.05)


def test_comments_and_role_events_are_no_progress() -> None:
    with server(role_and_comments) as there:
        stream = burst(there.url).streams[0]
    assert stream.end == "open" and 0.4 <= stream.end_at < 3


async def one_event_then_nothing(response: web.StreamResponse, _request: web.Request) -> None:
    await response.write(TOKEN_EVENT)
    await forever()


def test_a_silent_stream_is_left_after_its_time() -> None:
    with server(one_event_then_nothing) as there:
        stream = burst(there.url).streams[0]
    assert stream.end == "open" and 0.3 <= stream.end_at < 3


def wedge_watch(url: str, canary: str = "/v1/chat/completions") -> Watch:
    return Watch(
        ttft=5.0, gap=5.0, wedge=0.3, canary=HttpRequest("POST", url + canary, {}, b'{"messages": []}'),
        canary_timeout=0.3, health=(HttpRequest("GET", f"{url}/health"), HttpRequest("GET", f"{url}/metrics")),
    )  # fmt: skip


def test_a_wedge_is_probed_while_the_streams_are_open() -> None:
    with server(one_event_then_nothing) as there:
        result = burst(there.url, 5, wedge_watch(there.url))
    assert result.wedged_at is not None and 0.3 <= result.wedged_at < 3
    assert [(p.url.rpartition("/")[2], p.answer.status) for p in result.health] == [("health", 200), ("metrics", 404)]
    assert result.canary is not None and result.canary.error == "no answer within 0.3 s"
    assert result.canary_after is not None and {s.end for s in result.streams} == {"open"}


def test_an_answered_canary_means_no_wedge() -> None:
    with server(one_event_then_nothing) as there:
        health = HttpRequest("GET", f"{there.url}/health")
        watch = Watch(ttft=5.0, gap=0.6, wedge=0.2, canary=health, canary_timeout=1.0, health=(health,))
        result = burst(there.url, 3, watch)
    assert result.wedged_at is None and result.canary is not None and result.canary.status == 200
    assert {s.end for s in result.streams} == {"open"}


def test_a_token_is_sent_but_not_kept_even_when_echoed() -> None:
    async def answer(response: web.StreamResponse, request: web.Request) -> None:
        await response.write(b"data: bad key sk-to")
        await asyncio.sleep(0.02)
        await response.write(b"ken\n\n")

    with server(answer) as there:
        stream = CLIENT.burst(Burst((StreamRequest("a", post(there.url, Secret("sk-token"))),), FAST)).streams[0]
        assert there.headers[0]["Authorization"] == "Bearer sk-token"
    assert "sk-token" not in repr(stream) and b"bad key ***" in stream.chunks[0][1]


def test_fetch() -> None:
    with ToyServer() as there:
        answer = CLIENT.fetch(HttpRequest("GET", f"{there.url}/v1/models"), 5)
        missing = CLIENT.fetch(HttpRequest("GET", f"{there.url}/nowhere"), 5)
    assert answer.status == 200 and b"toy" in answer.body and answer.error is None
    assert missing.status == 404
    refused = CLIENT.fetch(HttpRequest("GET", f"http://127.0.0.1:{free_port()}/"), 5)
    assert (refused.status, refused.error) == (None, "Connection refused")
    assert CLIENT.fetch(HttpRequest("GET", "no url"), 5).status is None


def test_fetch_gives_up_in_time() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        answer = CLIENT.fetch(HttpRequest("GET", f"http://127.0.0.1:{deaf.getsockname()[1]}/"), 0.2)
    assert (answer.status, answer.error) == (None, "no answer within 0.2 s")


def test_ctrl_c_closes_every_connection() -> None:
    gone = threading.Event()
    begun = threading.Event()

    async def answer(response: web.StreamResponse, _request: web.Request) -> None:
        await response.write(TOKEN_EVENT)
        begun.set()
        try:
            await forever()
        finally:
            gone.set()

    def interrupt() -> None:
        begun.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    with server(answer) as there:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            burst(there.url, 4, Watch(ttft=30, gap=30, wedge=30))
        assert gone.wait(5)
