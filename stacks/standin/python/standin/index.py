"""The index of the store: which layers of a room are on the device, and who waits for one.

It counts copies; it moves no bytes and owns no pages.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict


class LayerIndex:
    """For every room that is being loaded, the pages of each layer that are still on their way."""

    def __init__(self, layers: int) -> None:
        self._layers = layers
        self._missing: dict[int, list[int]] = {}
        self._waiters: dict[tuple[int, int], list[asyncio.Future[None]]] = defaultdict(list)

    def expect(self, room: int, pages: int) -> None:
        """All layers of a room lack `pages` pages from now on."""
        self._missing[room] = [pages] * self._layers

    def arrived(self, room: int, layer: int) -> None:
        """One page of one layer has been copied."""
        missing = self._missing[room]
        missing[layer] -= 1
        if self.is_here(room, layer):
            self._wake(room, layer)

    def is_here(self, room: int, layer: int) -> bool:
        missing = self._missing.get(room)
        return missing is None or missing[layer] == 0

    async def wait(self, room: int, layer: int) -> None:
        """The gate: returns when all pages of the layer are on the device."""
        while not self.is_here(room, layer):
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters[room, layer].append(waiter)
            await waiter

    def forget(self, room: int) -> None:
        """The room is gone, or evicted again: nothing is on its way."""
        if self._missing.pop(room, None) is None:
            return
        for layer in range(self._layers):
            self._wake(room, layer)

    def _wake(self, room: int, layer: int) -> None:
        for waiter in self._waiters.pop((room, layer), ()):
            if not waiter.done():
                waiter.set_result(None)
