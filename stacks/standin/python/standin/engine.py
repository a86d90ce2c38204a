"""The engine of one process: which of prefill and decode the arguments ask for, their stores and their copy tasks.

It knows nothing of HTTP beyond the link that decode uses.
"""

from __future__ import annotations

import asyncio
import itertools
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import ClientSession, ClientTimeout, TCPConnector

from standin.chat import BadRequest, Chat
from standin.decode import Decode, Link, LocalLink, Step
from standin.prefill import Handover, Prefill
from standin.store import PagedStore
from standin.tokens import LAYERS
from standin.transfer import HttpLink


class Engine:
    """Has a prefill, a decode, or both (then each has a store of its own). Use it as a context."""

    def __init__(self, args: Namespace) -> None:
        mode = args.disaggregation_mode
        self.args = args
        self.prefill = self.decode = None
        if mode != "decode":
            self.prefill = Prefill(_store(args), args.chunked_prefill_size, args.room_timeout)
        if mode != "prefill":
            self.decode = Decode(_store(args), args.max_running_requests, not args.disable_overlap_schedule)
        self._local_rooms = itertools.count(-1, -1)  # a router's rooms are above 0
        self._links: dict[str, HttpLink] = {}
        self._session: ClientSession | None = None
        self._copiers: list[asyncio.Task[None]] = []

    @property
    def stores(self) -> dict[str, PagedStore]:
        parts = {"prefill": self.prefill, "decode": self.decode}
        return {role: part.store for role, part in parts.items() if part is not None}

    async def __aenter__(self) -> Engine:
        timeout = ClientTimeout(total=None, sock_connect=10)
        self._session = ClientSession(connector=TCPConnector(limit=0), timeout=timeout, auto_decompress=False)
        self._copiers = [asyncio.create_task(store.copy_forever()) for store in self.stores.values()]
        return self

    async def __aexit__(self, *_: object) -> None:
        for copier in self._copiers:
            copier.cancel()
        await asyncio.gather(*self._copiers, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def answering(self, chat: Chat) -> AsyncIterator[tuple[Handover, AsyncIterator[Step]]]:
        """A room that decode has admitted; with a prefill of its own, that works on the prompt meanwhile."""
        assert self.decode is not None
        room, link = self._link(chat)
        work = None
        if self.prefill is not None:
            work = asyncio.create_task(self.prefill.serve(room, chat.prompt))
        try:
            async with self.decode.admit(room, link) as handover:
                yield handover, self.decode.steps(room, handover, chat.limit)
        finally:
            if work is not None:
                await asyncio.gather(work, return_exceptions=True)

    async def try_stores(self) -> None:
        """A page there and back through every store. Waits like any request when a pool is full."""
        for store in self.stores.values():
            room, data = next(self._local_rooms), bytes(range(min(store.page_size, 256)))
            try:
                await store.allocate(room, len(data))
                for layer in range(LAYERS):
                    store.write(room, layer, 0, data)
                    await store.wait_layer(room, layer)
                    if store.read(room, layer) != data:
                        raise RuntimeError(f"layer {layer} of the store does not hold what was written")
            finally:
                store.free(room)

    def _link(self, chat: Chat) -> tuple[int, Link]:
        if self.prefill is not None:
            return next(self._local_rooms), LocalLink(self.prefill)
        if chat.room is None or chat.bootstrap is None:
            raise BadRequest("decode needs bootstrap_host, bootstrap_port and bootstrap_room: ask the router")
        assert self._session is not None
        if chat.bootstrap not in self._links:
            self._links[chat.bootstrap] = HttpLink(self._session, chat.bootstrap)
        return chat.room, self._links[chat.bootstrap]


def _store(args: Namespace) -> PagedStore:
    pages = args.max_total_tokens // args.page_size
    return PagedStore(pages, args.page_size, LAYERS, tier=args.enable_hierarchical_cache)
