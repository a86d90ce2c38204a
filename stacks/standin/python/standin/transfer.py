"""The hand-over between two processes: prefill serves its rooms on the bootstrap port, decode takes them from there.

GET /rooms/ROOM/ready     waits; sizes of the room as JSON, or 410 with what ended it
GET /rooms/ROOM/layers    the room's bytes, layer after layer
DELETE /rooms/ROOM        nobody will fetch it
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict

from aiohttp import ClientError, ClientSession, web

from standin.prefill import Handover, Prefill, RoomTimeout
from standin.store import RoomGone, TooLarge
from standin.tokens import LAYERS

ENDINGS: dict[str, type[Exception]] = {kind.__name__: kind for kind in (RoomGone, RoomTimeout, TooLarge)}


def application(prefill: Prefill) -> web.Application:
    """What listens on the bootstrap port."""
    rooms = _Rooms(prefill)
    app = web.Application()
    app.router.add_get(r"/rooms/{room:-?\d+}/ready", rooms.ready)
    app.router.add_get(r"/rooms/{room:-?\d+}/layers", rooms.layers)
    app.router.add_delete(r"/rooms/{room:-?\d+}", rooms.abort)
    return app


class _Rooms:
    def __init__(self, prefill: Prefill) -> None:
        self._prefill = prefill

    async def ready(self, request: web.Request) -> web.Response:
        try:
            return web.json_response(asdict(await self._prefill.ready(_room(request))))
        except tuple(ENDINGS.values()) as error:
            return web.json_response({"kind": type(error).__name__, "message": str(error)}, status=410)

    async def layers(self, request: web.Request) -> web.StreamResponse:
        """A room that goes away meanwhile ends the body early, and decode counts its bytes."""
        room, response = _room(request), web.StreamResponse()
        await response.prepare(request)
        try:
            async with aclosing(self._prefill.layers(room)) as layers:
                async for data in layers:
                    await response.write(data)
        except RoomGone:
            return response
        self._prefill.fetched(room)
        return response

    async def abort(self, request: web.Request) -> web.Response:
        self._prefill.abort(_room(request))
        return web.Response(status=204)


def _room(request: web.Request) -> int:
    return int(request.match_info["room"])


class HttpLink:
    """Prefill behind its bootstrap address. Every failure of the way there is a RoomGone."""

    def __init__(self, session: ClientSession, address: str) -> None:
        self._session, self._address = session, address
        self._goodbyes: set[asyncio.Task[None]] = set()

    async def ready(self, room: int) -> Handover:
        try:
            async with self._session.get(f"{self._address}/rooms/{room}/ready") as response:
                news = await response.json()
        except ClientError as error:
            raise RoomGone(f"prefill at {self._address} does not answer: {error}") from error
        if response.status != 200:
            raise ENDINGS[news["kind"]](news["message"])
        return Handover(**news)

    async def layers(self, room: int, size: int) -> AsyncGenerator[bytes, None]:
        try:
            async with self._session.get(f"{self._address}/rooms/{room}/layers") as response:
                for _ in range(LAYERS):
                    yield await response.content.readexactly(size)
                await response.read()  # to its end, so that the connection can be used again
        except (ClientError, asyncio.IncompleteReadError) as error:
            raise RoomGone(f"prefill at {self._address} broke off room {room}: {error}") from error

    def abort(self, room: int) -> None:
        task = asyncio.get_running_loop().create_task(self._delete(room))
        self._goodbyes.add(task)
        task.add_done_callback(self._goodbyes.discard)

    async def _delete(self, room: int) -> None:
        try:
            async with self._session.delete(f"{self._address}/rooms/{room}"):
                pass
        except ClientError:
            return  # prefill is away, and its rooms with it
