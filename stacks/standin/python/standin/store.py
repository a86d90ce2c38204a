"""The paged store: rooms of pages in several layers on the device, and a second tier for rooms that do not fit.

A room gets all its pages at once or waits in line, so no two rooms can wait for each other. Rooms leave the device
only when it is full, whole, oldest use first, and never while they are held. They come back by one copy task that
moves one page of one layer a turn of the event loop; `wait_layer` is the gate that a reader must pass before it
reads. The store does not check that a reader did: like the memory of a card, it hands out what is there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from standin.index import LayerIndex


class RoomGone(Exception):
    """The room was freed, or never made."""


class TooLarge(Exception):
    """The room would take more than half of the pool."""


async def turn() -> None:
    """Let every other task have one turn of the event loop."""
    await asyncio.sleep(0)


@dataclass
class Room:
    id: int
    tokens: int
    need: int  # pages
    pages: list[int] = field(default_factory=list)  # on the device; empty: waiting or in the second tier
    saved: list[list[bytes]] | None = None  # the second tier's copy: layer, page
    holds: int = 0  # by readers, writers and a load on its way: not to be evicted
    coming: int = 0  # copies of a load that are still queued


@dataclass(frozen=True)
class Copy:
    """One page of one layer, from the second tier to the device."""

    room: Room
    layer: int
    page: int
    data: bytes


class PagedStore:
    """`pages` pages of `page_size` tokens in `layers` layers; with `tier`, rooms may leave them for main memory."""

    def __init__(self, pages: int, page_size: int, layers: int, tier: bool = False) -> None:
        self.pages, self.page_size, self.layers, self.tier = pages, page_size, layers, tier
        self.evictions = self.loads = 0
        self._device = [bytearray(pages * page_size) for _ in range(layers)]
        self._free = list(range(pages))
        self._rooms: dict[int, Room] = {}  # oldest use first
        self._line: deque[tuple[Room, asyncio.Future[None]]] = deque()
        self._index = LayerIndex(layers)
        self._copies: deque[Copy] = deque()
        self._work = asyncio.Event()

    @property
    def free_pages(self) -> int:
        return len(self._free)

    @property
    def tier_pages(self) -> int:
        """Pages of rooms that are in the second tier now."""
        return sum(room.need for room in self._rooms.values() if room.saved is not None)

    @property
    def waiting(self) -> int:
        return len(self._line)

    def check_size(self, tokens: int) -> int:
        """Pages for `tokens`. Raises TooLarge above half of the pool: two such rooms could never take turns."""
        need = -(-tokens // self.page_size)
        if need > self.pages // 2:
            raise TooLarge(f"{tokens} tokens need {need} pages; a request may have {self.pages // 2} of {self.pages}")
        return need

    async def allocate(self, room_id: int, tokens: int) -> None:
        """Make a room and hold it. Waits in line for pages; the caller frees the room whatever happens."""
        room = Room(room_id, tokens, self.check_size(tokens))
        self._rooms[room_id] = room
        await self._get_pages(room)

    async def acquire(self, room_id: int) -> None:
        """Hold a room: its pages are on the device, or on their way there (see wait_layer)."""
        room = self._room(room_id)
        self._rooms[room_id] = self._rooms.pop(room_id)  # newest use last
        if room.pages:
            room.holds += 1
        else:
            await self._get_pages(room)

    def release(self, room_id: int) -> None:
        """No longer hold a room; it may be evicted now."""
        if room := self._rooms.get(room_id):
            room.holds -= 1
            self._serve_line()

    def free(self, room_id: int) -> None:
        """Give back all that a room has, in either tier or in line. Freeing twice is harmless."""
        room = self._rooms.pop(room_id, None)
        if room is None:
            return
        self._index.forget(room_id)
        self._free += room.pages
        room.pages, room.saved = [], None
        self._serve_line()

    async def wait_layer(self, room_id: int, layer: int) -> None:
        """The gate: all pages of this layer have been copied to the device."""
        await self._index.wait(room_id, layer)

    def write(self, room_id: int, layer: int, start: int, data: bytes) -> None:
        """Put one layer of the tokens from `start` on into the room's pages."""
        memory, at = self._device[layer], 0
        for where, length in self._spans(room_id, start, len(data)):
            memory[where : where + length] = data[at : at + length]
            at += length

    def read(self, room_id: int, layer: int, start: int = 0, count: int | None = None) -> bytes:
        """What the device holds now in the room's pages of one layer: no gate in here."""
        count = self._room(room_id).tokens - start if count is None else count
        memory = self._device[layer]
        return b"".join(memory[where : where + length] for where, length in self._spans(room_id, start, count))

    async def copy_forever(self) -> None:
        """The one copy task: one page of one layer a turn."""
        while True:
            while self._copies:
                self._copy(self._copies.popleft())
                await turn()
            self._work.clear()
            await self._work.wait()

    def _copy(self, copy: Copy) -> None:
        if self._rooms.get(copy.room.id) is not copy.room:
            return  # freed while its load was queued: the page may be another's by now
        where = copy.page * self.page_size
        self._device[copy.layer][where : where + self.page_size] = copy.data
        self._index.arrived(copy.room.id, copy.layer)
        copy.room.coming -= 1
        if not copy.room.coming:
            self.release(copy.room.id)

    def _room(self, room_id: int) -> Room:
        room = self._rooms.get(room_id)
        if room is None:
            raise RoomGone(f"room {room_id} is gone")
        return room

    def _spans(self, room_id: int, start: int, count: int) -> Iterator[tuple[int, int]]:
        """Where tokens start … start + count lie in a layer: (offset, length) page by page."""
        pages = self._room(room_id).pages
        while count > 0:
            slot, offset = divmod(start, self.page_size)
            length = min(count, self.page_size - offset)
            yield pages[slot] * self.page_size + offset, length
            start, count = start + length, count - length

    async def _get_pages(self, room: Room) -> None:
        """First come, first served: a small room does not overtake a large one."""
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append((room, granted))
        self._serve_line()
        await granted
        if self._rooms.get(room.id) is not room:
            raise RoomGone(f"room {room.id} was freed while it waited")

    def _serve_line(self) -> None:
        while self._line:
            room, granted = self._line[0]
            if granted.done() or self._rooms.get(room.id) is not room:
                self._line.popleft()  # its task was cancelled, or the room is gone
                if not granted.done():
                    granted.set_result(None)
                continue
            if not (room.pages or self._make_space(room.need)):
                return
            self._line.popleft()
            self._place(room)
            granted.set_result(None)

    def _place(self, room: Room) -> None:
        room.holds += 1
        if room.pages:
            return  # another reader of the same room came first
        room.pages = self._free[-room.need :]
        del self._free[-room.need :]
        if room.saved is not None:
            self._load(room, room.saved)

    def _load(self, room: Room, saved: list[list[bytes]]) -> None:
        self.loads += 1
        room.saved = None
        room.coming = self.layers * room.need
        room.holds += 1
        self._index.expect(room.id, room.need)
        for layer in range(self.layers):
            for page, data in zip(room.pages, saved[layer], strict=True):
                self._copies.append(Copy(room, layer, page, data))
        self._work.set()

    def _make_space(self, need: int) -> bool:
        """Evict until `need` pages are free; False when that cannot be had, and then nothing is evicted."""
        short = need - len(self._free)
        victims: list[Room] = []
        for room in self._rooms.values() if self.tier else ():
            if short <= 0:
                break
            if room.pages and not room.holds:
                victims.append(room)
                short -= room.need
        if short > 0:
            return False
        for room in victims:
            self._evict(room)
        return True

    def _evict(self, room: Room) -> None:
        self.evictions += 1
        size = self.page_size
        room.saved = [[bytes(memory[p * size : (p + 1) * size]) for p in room.pages] for memory in self._device]
        self._free += room.pages
        room.pages = []
