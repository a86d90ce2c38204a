"""Prefill: writes a prompt and what the model answers into the store, and keeps the room until decode has fetched it.

A room lives as long as the request that made it: whatever ends the request frees the pages. What a reader gets is
read from the pages when it asks, layer by layer, behind the gate.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from standin.grammar import answer_to
from standin.store import PagedStore, RoomGone, TooLarge, turn
from standin.tokens import LAYERS, encode, layer_of, seed_of

REMEMBERED = 4096  # rooms that came to nothing, for a decode that asks late


class RoomInUse(Exception):
    """A second request names the same room."""


class RoomTimeout(Exception):
    """Nobody made, or fetched, the room in time."""


@dataclass(frozen=True)
class Handover:
    """What decode must know of a room before it takes it: sizes in tokens, and the seed of its step sizes."""

    prompt_tokens: int
    answer_tokens: int
    seed: str

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens


class Prefill:
    """`chunk`: tokens written in one turn of the event loop. `timeout`: seconds."""

    def __init__(self, store: PagedStore, chunk: int, timeout: float) -> None:
        self.store, self._chunk, self._timeout = store, chunk, timeout
        self._news: dict[int, asyncio.Future[Handover]] = {}  # made by whichever side comes first
        self._left: dict[int, asyncio.Event] = {}  # of the rooms that are here
        self._over: dict[int, Exception] = {}  # the last rooms that came to nothing, and why

    @property
    def rooms(self) -> int:
        return len(self._left)

    async def serve(self, room: int, prompt: str) -> Handover:
        """The whole life of a room. Raises TooLarge, RoomTimeout, RoomGone (aborted), RoomInUse."""
        self._check(room)
        if room in self._left:
            raise RoomInUse(f"room {room} is in use")
        data, answer = encode(prompt), encode(answer_to(prompt))
        handover = Handover(len(data) // LAYERS, len(answer) // LAYERS, seed_of(prompt))
        left = self._left[room] = asyncio.Event()
        try:
            await self._forward(room, data + answer)
            self._future(room).set_result(handover)
            async with self._limit(f"room {room} was not fetched"):
                await left.wait()
            self._check(room)
        except (TooLarge, RoomTimeout, RoomGone) as error:
            self._give_up(room, error)
            raise
        finally:
            del self._left[room]
            self._news.pop(room, None)
            self.store.free(room)
        return handover

    async def ready(self, room: int) -> Handover:
        """Wait until a room may be fetched. Raises what ended the room, or RoomTimeout when nobody makes it."""
        self._check(room)
        news = self._future(room)
        try:
            async with self._limit(f"room {room} was not ready"):
                return await asyncio.shield(news)
        finally:
            if not news.done() and room not in self._left:
                self._news.pop(room, None)

    async def layers(self, room: int) -> AsyncGenerator[bytes, None]:
        """A room's bytes as the device holds them, one layer a turn."""
        await self.store.acquire(room)
        try:
            for layer in range(LAYERS):
                await self.store.wait_layer(room, layer)
                yield self.store.read(room, layer)
                await turn()
        finally:
            self.store.release(room)

    def fetched(self, room: int) -> None:
        """Decode has it all."""
        if left := self._left.get(room):
            left.set()

    def abort(self, room: int) -> None:
        """Decode will not come: give the pages back now, also when the room is still to be made."""
        self._give_up(room, RoomGone(f"room {room} was aborted"))
        self.store.free(room)
        self.fetched(room)

    async def _forward(self, room: int, data: bytes) -> None:
        """Chunk after chunk, all layers of one in a turn."""
        await self.store.allocate(room, len(data) // LAYERS)
        size = self._chunk * LAYERS
        for start in range(0, len(data), size):
            for layer in range(LAYERS):
                self.store.write(room, layer, start // LAYERS, layer_of(data[start : start + size], layer))
            await turn()
        self.store.release(room)

    def _future(self, room: int) -> asyncio.Future[Handover]:
        if room not in self._news:
            self._news[room] = asyncio.get_running_loop().create_future()
        return self._news[room]

    def _check(self, room: int) -> None:
        if end := self._over.get(room):
            raise type(end)(*end.args)

    def _give_up(self, room: int, error: Exception) -> None:
        self._over.setdefault(room, error)
        if len(self._over) > REMEMBERED:
            del self._over[next(iter(self._over))]
        news = self._news.get(room)
        if news and not news.done():
            news.set_exception(type(error)(*error.args))
            news.exception()  # seen, also when decode never asks

    @asynccontextmanager
    async def _limit(self, message: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._timeout):
                yield
        except TimeoutError:
            raise RoomTimeout(f"{message} within {self._timeout:g} s") from None
