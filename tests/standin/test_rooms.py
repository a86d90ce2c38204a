"""Prefill and decode in one loop: the life of a room, who waits for whom, what is left when something ends early."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from standin.decode import Decode, Link, LocalLink
from standin.grammar import answer_to
from standin.prefill import Handover, Prefill, RoomInUse, RoomTimeout
from standin.store import PagedStore, RoomGone, TooLarge, turn
from standin.tokens import LAYERS

PAGES, SIZE = 32, 16  # a prompt of these tests takes 5 pages


class Pair:
    """A prefill and a decode with small pools and two slots."""

    def __init__(self, tier: bool, decode: type[Decode] = Decode, timeout: float = 5.0) -> None:
        self.prefill = Prefill(PagedStore(PAGES, SIZE, LAYERS, tier), chunk=8, timeout=timeout)
        self.decode = decode(PagedStore(PAGES, SIZE, LAYERS), slots=2)
        self.link = LocalLink(self.prefill)

    async def answer(self, room: int) -> str:
        async with self.decode.admit(room, self.link) as handover:
            return "".join([step.text async for step in self.decode.steps(room, handover)])

    @property
    def lost(self) -> int:
        return 2 * PAGES - self.prefill.store.free_pages - self.decode.store.free_pages


def prompt(number: int) -> str:
    tool = json.dumps({"name": "keep", "parameters": {}})
    return f'{tool}<｜User｜>{"Old sheets lie there. " * 3}Call keep with nonce "N-{number:04}".<｜Assistant｜></think>'


def run(scene: Callable[[Pair], Awaitable[None]], pair: Callable[[], Pair]) -> None:
    async def play() -> None:
        both = pair()
        copiers = [asyncio.create_task(part.store.copy_forever()) for part in (both.prefill, both.decode)]
        try:
            await asyncio.wait_for(scene(both), 20)
            assert (both.lost, both.prefill.rooms, both.decode.requests) == (0, 0, 0)
        finally:
            for copier in copiers:
                copier.cancel()

    asyncio.run(play())


async def all_of(both: Pair, count: int) -> list[str | BaseException]:
    """Prefill gets the requests first to last, decode last to first: two queues that no router keeps in step."""
    work = [asyncio.create_task(both.prefill.serve(number, prompt(number))) for number in range(count)]
    await turn()
    answers = [asyncio.create_task(both.answer(number)) for number in reversed(range(count))]
    found = await asyncio.gather(*answers, return_exceptions=True)
    await asyncio.gather(*work, return_exceptions=True)
    return found[::-1]


@pytest.mark.parametrize("tier", [False, True])
def test_every_answer_is_its_own_when_memory_is_full(tier: bool) -> None:
    async def scene(both: Pair) -> None:
        assert await all_of(both, 40) == [answer_to(prompt(number)) for number in range(40)]
        assert bool(both.prefill.store.evictions) == tier

    run(scene, lambda: Pair(tier))


class Eager(Decode):
    """What decode must not be: it takes a slot before prefill has the room."""

    def __init__(self, store: PagedStore, slots: int) -> None:
        super().__init__(store, slots)
        self._early = asyncio.Semaphore(slots)

    @asynccontextmanager
    async def admit(self, room: int, link: Link) -> AsyncIterator[Handover]:
        async with self._early, super().admit(room, link) as handover:
            yield handover


def test_a_slot_before_the_room_is_ready_dead_locks_without_a_tier() -> None:
    """The slots wait for rooms that prefill cannot make, and prefill's pool for rooms that have no slot."""

    async def scene(both: Pair) -> None:
        found = await all_of(both, 40)
        assert sum(isinstance(answer, RoomTimeout | RoomGone) for answer in found) > 2

    run(scene, lambda: Pair(False, Eager, timeout=0.2))


def test_a_room_that_nobody_fetches_times_out() -> None:
    async def scene(both: Pair) -> None:
        with pytest.raises(RoomTimeout, match=r"room 1 was not fetched within 0.05 s"):
            await both.prefill.serve(1, prompt(1))

    run(scene, lambda: Pair(True, timeout=0.05))


def test_a_room_that_nobody_makes_times_out() -> None:
    async def scene(both: Pair) -> None:
        with pytest.raises(RoomTimeout, match="was not ready"):
            await both.answer(1)

    run(scene, lambda: Pair(True, timeout=0.05))


@pytest.mark.parametrize("decode_first", [False, True])
def test_a_prompt_above_half_the_pool_is_refused_on_both_sides(decode_first: bool) -> None:
    async def scene(both: Pair) -> None:
        early = asyncio.create_task(both.answer(1))
        if decode_first:
            await turn()
        with pytest.raises(TooLarge):
            await both.prefill.serve(1, prompt(1) + "x" * 1000)
        with pytest.raises(TooLarge):
            await early

    run(scene, lambda: Pair(True))


def test_two_requests_for_one_room_are_an_error_of_the_second() -> None:
    async def scene(both: Pair) -> None:
        first = asyncio.create_task(both.prefill.serve(1, prompt(1)))
        await turn()
        with pytest.raises(RoomInUse):
            await both.prefill.serve(1, prompt(2))
        assert await both.answer(1) == answer_to(prompt(1))
        await first

    run(scene, lambda: Pair(True))


@pytest.mark.parametrize("tier", [False, True])
@pytest.mark.parametrize("turns", [1, 3, 10, 30, 60, 100])
def test_an_abort_storm_loses_no_page_and_harms_nobody(tier: bool, turns: int) -> None:
    async def scene(both: Pair) -> None:
        work = [asyncio.create_task(both.prefill.serve(number, prompt(number))) for number in range(40)]
        answers = [asyncio.create_task(both.answer(number)) for number in range(40)]
        for _ in range(turns):
            await turn()
        for number in range(0, 40, 3):
            answers[number].cancel()
        found = await asyncio.gather(*answers, return_exceptions=True)
        await asyncio.gather(*work, return_exceptions=True)
        for number, answer in enumerate(found):
            assert answer == answer_to(prompt(number)) or (number % 3 == 0 and isinstance(answer, BaseException))

    run(scene, lambda: Pair(tier))


def test_an_abort_before_the_room_is_made_is_remembered() -> None:
    async def scene(both: Pair) -> None:
        both.prefill.abort(1)
        with pytest.raises(RoomGone):
            await both.prefill.serve(1, prompt(1))

    run(scene, lambda: Pair(True))


def test_an_answer_is_cut_at_its_limit() -> None:
    async def scene(both: Pair) -> None:
        work = asyncio.create_task(both.prefill.serve(1, prompt(1)))
        async with both.decode.admit(1, both.link) as handover:
            steps = [step async for step in both.decode.steps(1, handover, limit=7)]
        assert sum(step.tokens for step in steps) == 7
        assert answer_to(prompt(1)).startswith("".join(step.text for step in steps).rstrip("\ufffd"))
        await work

    run(scene, lambda: Pair(True))
