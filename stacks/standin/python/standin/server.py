"""sglang's HTTP surface over the engine: what a router, a gate and a load test ask a worker.

Every error has sglang's shape. Whatever ends a request, its handler ends with it and gives the pages back.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

import standin
from standin import chat as chats
from standin import metrics
from standin.engine import Engine
from standin.prefill import RoomInUse, RoomTimeout
from standin.store import RoomGone, TooLarge

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Aborted(Exception):
    """/abort_request ended the request."""


STATUS: dict[type[Exception], int] = {
    chats.BadRequest: 400, TooLarge: 400, RoomInUse: 400, Aborted: 500, RoomGone: 500, RoomTimeout: 504,
}  # fmt: skip
KINDS = {400: "BadRequestError", 500: "InternalServerError", 504: "TimeoutError"}


@dataclass
class Running:
    """A request in work, as /abort_request finds it."""

    id: str
    task: asyncio.Task[object]
    aborted: bool = False


class Server:
    def __init__(self, engine: Engine) -> None:
        self.engine, self.args = engine, engine.args
        self._running: dict[str, Running] = {}
        self._started = int(time.time())

    def application(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20, middlewares=[_errors])
        app.router.add_get("/health", self.health)
        app.router.add_get("/health_generate", self.health_generate)
        app.router.add_get("/server_info", self.server_info)
        app.router.add_get("/model_info", self.model_info)
        app.router.add_get("/v1/models", self.models)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_post("/abort_request", self.abort)
        if self.args.enable_metrics:
            app.router.add_get("/metrics", self.metrics)
        return app

    async def health(self, _: web.Request) -> web.Response:
        return web.Response()

    async def health_generate(self, _: web.Request) -> web.Response:
        await self.engine.try_stores()
        return web.Response()

    async def server_info(self, _: web.Request) -> web.Response:
        """The arguments, where the code was imported from, and the state of the stores."""
        pools = {
            role: {"pages": store.pages, "free": store.free_pages, "second_tier": store.tier_pages,
                   "waiting": store.waiting, "evictions": store.evictions, "loads": store.loads}
            for role, store in self.engine.stores.items()
        }  # fmt: skip
        where = str(Path(standin.__file__).resolve().parent)
        version = f"standin {standin.__version__}"
        return web.json_response({**vars(self.args), "version": version, "import_path": where, "pools": pools})

    async def model_info(self, _: web.Request) -> web.Response:
        args = self.args
        info = {"model_path": args.model_path, "tokenizer_path": args.model_path, "is_generation": True}
        return web.json_response({**info, "weight_version": args.weight_version, "model_type": "deepseek_v4"})

    async def models(self, _: web.Request) -> web.Response:
        name = self.args.served_model_name
        model = {"id": name, "object": "model", "created": self._started, "owned_by": "sglang", "root": name}
        return web.json_response({"object": "list", "data": [model]})

    async def metrics(self, _: web.Request) -> web.Response:
        engine = self.engine
        return web.Response(text=metrics.text(self.args.served_model_name, engine.prefill, engine.decode))

    async def abort(self, request: web.Request) -> web.Response:
        """Body {"rid": ID} or {"abort_all": true}; ID is the answer's, or the X-Request-ID it came with."""
        body = await _json(request)
        for name, running in list(self._running.items()):
            if body.get("abort_all") or body.get("rid") == name:
                running.aborted = True
                running.task.cancel()
        return web.Response()

    async def chat(self, request: web.Request) -> web.StreamResponse:
        chat = chats.read(await _json(request), self.args.served_model_name)
        task = asyncio.current_task()
        assert task is not None
        running = Running(f"chatcmpl-{uuid.uuid4().hex}", task)
        names = {running.id, request.headers.get("X-Request-ID") or running.id}
        self._running.update(dict.fromkeys(names, running))
        try:
            if self.engine.decode is None:
                return await self._prefill(chat, running)
            if chat.stream:
                return await self._stream(request, chat, running)
            return await self._whole(chat, running)
        finally:
            for name in names:
                self._running.pop(name, None)

    async def _prefill(self, chat: chats.Chat, running: Running) -> web.Response:
        """Prefill's own answer comes when decode has the room; the router reads it and throws it away."""
        assert self.engine.prefill is not None
        if chat.room is None:
            raise chats.BadRequest("prefill needs bootstrap_room: ask the router")
        with _abortable(running):
            handover = await self.engine.prefill.serve(chat.room, chat.prompt)
        count = handover.prompt_tokens
        head = {"id": running.id, "object": "chat.completion", "model": self.args.served_model_name, "choices": []}
        usage = {"prompt_tokens": count, "completion_tokens": 0, "total_tokens": count}
        return web.json_response({**head, "usage": usage})

    async def _stream(self, request: web.Request, chat: chats.Chat, running: Running) -> web.StreamResponse:
        """The head goes out with the first token, so what fails before it still has a status of its own."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        try:
            with _abortable(running):
                async with self.engine.answering(chat) as (handover, steps):
                    request["streaming"] = await response.prepare(request)
                    answer = chats.Answer(chat, running.id, handover, self.args)
                    await _send(response, answer.begin())
                    async for step in steps:
                        await _send(response, answer.step(step))
            await _send(response, [*answer.end(), "[DONE]"])
        except Aborted:
            request["streaming"] = await response.prepare(request)
            await _send(response, [chats.aborted(running.id, self.args.served_model_name), "[DONE]"])
        return response

    async def _whole(self, chat: chats.Chat, running: Running) -> web.Response:
        with _abortable(running):
            async with self.engine.answering(chat) as (handover, steps):
                answer = chats.Answer(chat, running.id, handover, self.args)
                answer.begin()
                async for step in steps:
                    answer.step(step)
        answer.end()
        return web.json_response(answer.whole(self.args.weight_version))


@contextmanager
def _abortable(running: Running) -> Iterator[None]:
    """Tell an abort from the end of the connection or of the server: both cancel the task."""
    try:
        yield
    except asyncio.CancelledError:
        if not running.aborted:
            raise
        running.task.uncancel()
        raise Aborted("the request was aborted") from None


async def _send(response: web.StreamResponse, events: list[str]) -> None:
    if events:
        await response.write("".join(f"data: {event}\n\n" for event in events).encode())


async def _json(request: web.Request) -> dict[str, object]:
    try:
        body = await request.json()
    except ValueError as error:
        raise chats.BadRequest(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise chats.BadRequest("the body must be a JSON object")
    return body


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except tuple(STATUS) as error:
        if "streaming" in request:
            raise  # too late for a status: the connection breaks off
        status = next(code for kind, code in STATUS.items() if isinstance(error, kind))
        fault = {"object": "error", "message": str(error), "type": KINDS[status], "param": None, "code": status}
        return web.json_response(fault, status=status)
