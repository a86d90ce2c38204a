"""The store alone: who gets pages, who leaves the device, and what a reader sees before and behind the gate."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standin.store import PagedStore, RoomGone, TooLarge, turn

PAGES, SIZE, LAYERS = 8, 4, 2


def run(scene: Callable[[PagedStore], Awaitable[None]], tier: bool = True) -> None:
    """One store, its copy task, and what happens to them."""

    async def play() -> None:
        store = PagedStore(PAGES, SIZE, LAYERS, tier)
        copier = asyncio.create_task(store.copy_forever())
        try:
            await asyncio.wait_for(scene(store), 10)
        finally:
            copier.cancel()

    asyncio.run(play())


async def make(store: PagedStore, room: int, pages: int = 4) -> None:
    """A room whose every byte is its number."""
    await store.allocate(room, pages * SIZE)
    for layer in range(LAYERS):
        store.write(room, layer, 0, bytes([room]) * (pages * SIZE))
    store.release(room)


async def read(store: PagedStore, room: int) -> bytes:
    await store.acquire(room)
    try:
        data = b""
        for layer in range(LAYERS):
            await store.wait_layer(room, layer)
            data += store.read(room, layer)
        return data
    finally:
        store.release(room)


def test_nothing_leaves_the_device_before_it_is_full() -> None:
    async def scene(store: PagedStore) -> None:
        await make(store, 1)
        await make(store, 2)
        assert (store.evictions, store.free_pages) == (0, 0)
        await make(store, 3, pages=1)
        assert (store.evictions, store.tier_pages) == (1, 4)

    run(scene)


def test_the_oldest_use_leaves_first() -> None:
    async def scene(store: PagedStore) -> None:
        await make(store, 1)
        await make(store, 2)
        await read(store, 1)
        await make(store, 3)
        await store.acquire(1)
        assert store.loads == 0

    run(scene)


def test_behind_the_gate_a_reader_sees_its_own_bytes() -> None:
    async def scene(store: PagedStore) -> None:
        for room in (1, 2, 3, 4):
            await make(store, room)
        for room in (1, 2, 3, 4, 2, 1):
            assert set(await read(store, room)) == {room}
        assert store.loads > 3

    run(scene)


def test_before_the_gate_it_sees_whose_pages_they_were() -> None:
    async def scene(store: PagedStore) -> None:
        for room in (1, 2, 3):
            await make(store, room)
        await store.acquire(1)  # evicts 2
        assert set(store.read(1, 0)) == {2}
        await store.wait_layer(1, 0)
        assert set(store.read(1, 0)) == {1}

    run(scene)


def test_a_load_is_one_page_of_one_layer_a_turn() -> None:
    async def scene(store: PagedStore) -> None:
        for room in (1, 2, 3):
            await make(store, room)
        await store.acquire(1)
        seen = []
        for _ in range(LAYERS * 4 + 2):
            await turn()
            seen.append(sum(store.read(1, layer).count(1) for layer in range(LAYERS)))
        assert seen[-1] == LAYERS * 4 * SIZE
        assert {after - before for before, after in itertools.pairwise(seen)} <= {0, SIZE}

    run(scene)


def test_without_a_tier_a_room_waits_until_another_is_freed() -> None:
    async def scene(store: PagedStore) -> None:
        await make(store, 1)
        await make(store, 2)
        third = asyncio.create_task(make(store, 3))
        for _ in range(20):
            await turn()
        assert not third.done()
        assert store.waiting == 1
        store.free(2)
        await third
        assert set(await read(store, 1)) == {1}

    run(scene, tier=False)


def test_a_small_room_does_not_overtake_a_large_one() -> None:
    async def scene(store: PagedStore) -> None:
        await make(store, 1)
        await make(store, 2, pages=3)
        large, small = asyncio.create_task(make(store, 3)), asyncio.create_task(make(store, 4, pages=1))
        for _ in range(5):
            await turn()
        assert not (large.done() or small.done())
        store.free(1)
        await large
        await small

    run(scene, tier=False)


def test_a_held_room_stays() -> None:
    async def scene(store: PagedStore) -> None:
        await make(store, 1)
        await make(store, 2)
        await store.acquire(1)
        await store.acquire(2)
        waiting = asyncio.create_task(make(store, 3))
        await turn()
        assert not waiting.done()
        store.release(2)
        await waiting
        assert set(store.read(1, 0)) == {1}

    run(scene)


def test_a_cancelled_wait_leaves_the_line() -> None:
    async def scene(store: PagedStore) -> None:
        await make(store, 1)
        await make(store, 2)
        waiting = asyncio.create_task(make(store, 3))
        behind = asyncio.create_task(make(store, 4))
        await turn()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        store.free(3)
        store.free(1)
        await behind
        store.free(2)
        store.free(4)
        assert store.free_pages == PAGES

    run(scene, tier=False)


def test_a_room_freed_in_line_says_so() -> None:
    async def scene(store: PagedStore) -> None:
        await make(store, 1)
        await make(store, 2)
        waiting = asyncio.create_task(make(store, 3))
        await turn()
        store.free(3)
        with pytest.raises(RoomGone):
            await waiting
        assert store.waiting == 0

    run(scene, tier=False)


def test_a_room_freed_while_it_loads_does_not_write_into_anothers_pages() -> None:
    async def scene(store: PagedStore) -> None:
        for room in (1, 2, 3):
            await make(store, room)
        await store.acquire(1)
        await turn()
        store.free(1)
        await make(store, 4)
        for _ in range(LAYERS * 8):
            await turn()
        assert set(await read(store, 4)) == {4}

    run(scene)


def test_a_reader_that_leaves_early_does_not_let_a_loading_room_be_evicted() -> None:
    async def scene(store: PagedStore) -> None:
        for room in (1, 2, 3):
            await make(store, room)
        await store.acquire(1)
        store.release(1)
        await make(store, 4)
        assert set(await read(store, 1)) == {1}
        assert set(await read(store, 4)) == {4}

    run(scene)


def test_more_than_half_of_the_pool_is_refused() -> None:
    async def scene(store: PagedStore) -> None:
        with pytest.raises(TooLarge, match="need 5 pages; a request may have 4 of 8"):
            await store.allocate(1, 4 * SIZE + 1)
        assert store.free_pages == PAGES
        with pytest.raises(RoomGone):
            store.read(1, 0)

    run(scene)


def test_writes_and_reads_cross_pages() -> None:
    async def scene(store: PagedStore) -> None:
        await store.allocate(1, 3 * SIZE)
        store.write(1, 1, 3, b"abcdef")
        assert store.read(1, 1, 3, 6) == b"abcdef"
        assert store.read(1, 1, 5, 3) == b"cde"

    run(scene)


@settings(max_examples=60, deadline=None)
@given(
    plans=st.lists(
        st.tuples(st.integers(1, 4), st.integers(0, 6), st.integers(0, 3), st.booleans()), min_size=1, max_size=14
    ),
    tier=st.booleans(),
)
def test_whatever_happens_readers_see_their_own_and_no_page_is_lost(
    plans: list[tuple[int, int, int, bool]], tier: bool
) -> None:
    """Rooms of any size, that come after some turns, are read some times, and may be cancelled half-way."""

    async def life(store: PagedStore, room: int, plan: tuple[int, int, int, bool]) -> None:
        pages, delay, reads, _ = plan
        try:
            for _ in range(delay):
                await turn()
            await make(store, room, pages)
            for _ in range(reads):
                assert await read(store, room) == bytes([room]) * (pages * SIZE * LAYERS)
                await turn()
        finally:
            store.free(room)

    async def scene(store: PagedStore) -> None:
        lives = [asyncio.create_task(life(store, number + 1, plan)) for number, plan in enumerate(plans)]
        for _ in range(8):
            await turn()
        for task, plan in zip(lives, plans, strict=True):
            if plan[3]:
                task.cancel()
        for result in await asyncio.gather(*lives, return_exceptions=True):
            assert result is None or isinstance(result, asyncio.CancelledError), result
        assert (store.free_pages, store.tier_pages, store.waiting) == (PAGES, 0, 0)

    run(scene, tier)
