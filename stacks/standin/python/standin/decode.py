"""Decode: takes a room from prefill when prefill says that it is ready, and says what its pages hold, step by step.

It holds neither a slot nor a page before that: prefill may be unable to make this room until others are fetched,
and those others need the slots. The answer is made of the bytes in the store; no text of the request gets here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from standin.prefill import Handover, Prefill
from standin.store import PagedStore, turn
from standin.tokens import LAYERS, Detokenizer, step_size


class Link(Protocol):
    """How decode reaches the prefill that has its room."""

    async def ready(self, room: int) -> Handover: ...

    def layers(self, room: int, size: int) -> AsyncGenerator[bytes, None]:
        """The room's layers in order, `size` bytes each, whole."""

    def abort(self, room: int) -> None:
        """Tell prefill that nobody will fetch the room; does not wait for it."""


class LocalLink:
    """Prefill in the same process: the role `single`."""

    def __init__(self, prefill: Prefill) -> None:
        self._prefill = prefill

    async def ready(self, room: int) -> Handover:
        return await self._prefill.ready(room)

    async def layers(self, room: int, size: int) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._prefill.layers(room)) as layers:
            async for data in layers:
                yield data
        self._prefill.fetched(room)

    def abort(self, room: int) -> None:
        self._prefill.abort(room)


@dataclass(frozen=True)
class Step:
    """What one decode step said. `tokens` counts also what the detokenizer still holds back."""

    text: str
    tokens: int


class Decode:
    """`slots`: requests in work at once. `overlap`: a step is sent while the next one is read."""

    def __init__(self, store: PagedStore, slots: int, overlap: bool = True) -> None:
        self.store, self._overlap = store, overlap
        self._slots = asyncio.Semaphore(slots)
        self.requests = self.running = self.said = 0  # now, now in work, tokens so far

    @asynccontextmanager
    async def admit(self, room: int, link: Link) -> AsyncIterator[Handover]:
        """From a ready room to pages that are full; on the way out slot and pages are given back."""
        fetched = False
        self.requests += 1
        try:
            handover = await link.ready(room)
            async with self._slots:
                self.running += 1
                try:
                    await self._fetch(room, link, handover.tokens)
                    fetched = True
                    yield handover
                finally:
                    self.running -= 1
                    self.store.free(room)
        finally:
            self.requests -= 1
            if not fetched:
                link.abort(room)

    async def _fetch(self, room: int, link: Link, tokens: int) -> None:
        await self.store.allocate(room, tokens)
        async with aclosing(link.layers(room, tokens)) as layers:
            layer = 0
            async for data in layers:
                self.store.write(room, layer, 0, data)
                layer += 1

    async def steps(self, room: int, handover: Handover, limit: int | None = None) -> AsyncIterator[Step]:
        """The answer, at most `limit` tokens of it, one layer a turn."""
        count = handover.answer_tokens if limit is None else min(limit, handover.answer_tokens)
        detokenizer, done, number = Detokenizer(), 0, 0
        while done < count:
            size = min(step_size(handover.seed, number), count - done)
            data = await self._read(room, handover.prompt_tokens + done, size)
            done, number = done + size, number + 1
            self.said += size
            yield Step(detokenizer.feed(data, final=done == count), size)
            if not self._overlap:
                await turn()

    async def _read(self, room: int, start: int, size: int) -> bytes:
        data = bytearray(size * LAYERS)
        for layer in range(LAYERS):
            await self.store.wait_layer(room, layer)
            data[layer::LAYERS] = self.store.read(room, layer, start, size)
            await turn()
        return bytes(data)
