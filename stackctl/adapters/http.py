"""The load client: many streams at once over aiohttp, every byte with its time; nothing is judged here.

aiohttp, because others cost so much CPU a stream that the client looks like a stalled server. Every stream has a
fresh connection, nothing is retried, and all timers are its own. The event loop lives only inside of a call.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from stackctl.core.verify.wire import Burst, BurstResult, HttpAnswer, HttpRequest
from stackctl.ports import Progress

T = TypeVar("T")


class AiohttpClient:
    """Implements ports.Http. aiohttp is imported at the first request: most verbs never send one."""

    def fetch(self, request: HttpRequest, timeout: float) -> HttpAnswer:
        """One request, whole answer; a failure to connect is an answer with status None and the error's text."""
        from stackctl.adapters.burst import fetch_alone

        return _run(lambda: fetch_alone(request, timeout))

    def burst(self, burst: Burst, on_progress: Progress | None = None) -> BurstResult:
        """All streams of a burst to their ends. Ctrl-C closes every connection, then goes on as KeyboardInterrupt."""
        from stackctl.adapters.burst import RunningBurst

        return _run(lambda: RunningBurst(burst, on_progress).run())


def _run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    factory = None
    if importlib.util.find_spec("uvloop"):
        factory = importlib.import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work())
