"""Small real HTTP servers for tests of the load client: an OpenAI-like engine on loopback that can be told to break.

Its "model" makes the call that the prompt asks for, in small pieces. A fault shows only while more than `LOAD`
requests are open, so that one request alone is always answered right.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any

from aiohttp import web

LOAD = 4
PACE = 0.004  # seconds between events: what a decode step takes, so that requests overlap
_ORDER = re.compile(r"Call (\w+) exactly once with (.*?)\. Do not write any text\.$")
_PAIR = re.compile(r"(\w+) (\[.*?\]|\".*?\"|\d+)")


def free_port() -> int:
    """A port below the ephemeral range that nobody listens on."""
    for port in range(21000 + uuid.uuid4().int % 5000, 32000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
                return port
    raise RuntimeError("no free port")


def asked(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Tool and arguments that the last message asks for."""
    order = _ORDER.search(body["messages"][-1]["content"])
    assert order is not None
    return order[1], {key: json.loads(value) for key, value in _PAIR.findall(order[2])}


class ToyServer:
    """`with ToyServer('leak') as server: server.url`. Runs in a thread of its own and is gone at the end."""

    def __init__(self, fault: str = "", stream: Callable[[web.Request], Any] | None = None) -> None:
        self.fault = fault
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.active = 0
        self.served = 0
        self.broken = False
        self.latest: dict[str, Any] = {}
        self.headers: list[dict[str, str]] = []
        self._stream = stream
        self._ready = threading.Event()

    def __enter__(self) -> ToyServer:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, _type: type | None, _error: BaseException | None, _tb: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        self._loop, self._over, self._frozen = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        app = web.Application()
        app.router.add_get("/health", self._health)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None, handler_cancellation=True)
        await runner.setup()
        self._site = web.TCPSite(runner, "127.0.0.1", self.port, backlog=512)
        await self._site.start()
        self._ready.set()
        await self._over.wait()
        self._frozen.set()
        await runner.cleanup()

    async def _health(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _models(self, request: web.Request) -> web.Response:
        self.headers.append(dict(request.headers))
        return web.json_response({"object": "list", "data": [{"id": "toy", "object": "model"}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        if self._stream:
            return await self._stream(request)
        body = await request.json()
        self.active += 1
        self.served += 1
        try:
            return await (self._answer(request, body) if body.get("stream") else self._whole())
        finally:
            self.active -= 1

    async def _whole(self) -> web.Response:
        if self.broken:
            await self._frozen.wait()
        message = {"role": "assistant", "content": "Yes."}
        return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    async def _answer(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        number = self.served
        tool, arguments = asked(body)
        before, self.latest = self.latest or arguments, arguments
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if self.fault == "broken" or (self.fault == "error" and self.active > LOAD):
            return web.Response(status=500, text='data: {\'error\': {"message": "decode failed"}}')
        await response.prepare(request)
        identity = f"chatcmpl-{uuid.uuid4().hex}"
        events = list(self._events(body, identity, tool, arguments))
        for n, event in enumerate(events):
            try:
                await response.write(event)
            except ConnectionResetError:
                return response
            await asyncio.sleep(PACE)
            loaded = self.active > LOAD and n == 2
            if loaded and self.fault == "mix":
                events[3:] = list(self._events(body, identity, tool, {**arguments, "nonce": before["nonce"]}))[3:]
            elif loaded and self.fault == "leak" and number % 5 == 0:
                events[3:3] = [_chunk(identity, {"content": piece}) for piece in ("<｜D", "SML｜too", "l_calls>")]
            elif loaded and self.fault == "stall" and number % 10 == 0:
                await self._frozen.wait()
                return response
            elif loaded and self.fault == "reset" and number % 10 == 0:
                assert request.transport is not None
                request.transport.abort()
                return response
            elif loaded and self.fault == "crash":
                await self._site.stop()
                assert request.transport is not None
                request.transport.abort()
                return response
            elif (loaded and self.fault == "wedge") or self.broken:
                self.broken = True
                await self._frozen.wait()
                return response
        return response

    def _events(self, body: dict[str, Any], identity: str, tool: str, arguments: dict[str, Any]) -> list[bytes]:
        text = json.dumps(arguments)
        call = {"index": 0, "id": f"call_{uuid.uuid4().hex[:24]}", "type": "function"}
        pieces = [text[i : i + 9] for i in range(0, len(text), 9)]
        events = [
            _chunk(identity, {"role": "assistant", "content": ""}),
            _chunk(identity, {"tool_calls": [{**call, "function": {"name": tool, "arguments": ""}}]}),
        ]
        events += [
            _chunk(identity, {"tool_calls": [{"index": 0, "id": None, "function": {"name": None, "arguments": piece}}]})
            for piece in pieces
        ]
        events.append(_chunk(identity, {}, "tool_calls"))
        prompt = len(json.dumps(body["messages"])) // 4
        made = len(text) // 3
        usage = {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}
        events.append(_event({"id": identity, "object": "chat.completion.chunk", "choices": [], "usage": usage}))
        return [*events, b"data: [DONE]\n\n"]


def _chunk(identity: str, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event({"id": identity, "object": "chat.completion.chunk", "model": "toy", "choices": [choice]})


def _event(value: object) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"
