"""One burst over aiohttp while it runs: its streams, the watch over their silence, and the client's own lag.

Nothing is judged here; that a burst is wedged only means that nothing moved and a fresh request did not finish.
"""

from __future__ import annotations

import asyncio
import resource
import time

import aiohttp

from stackctl.adapters.stream import LiveStream, plain, words
from stackctl.core.verify.stats import quantile
from stackctl.core.verify.wire import Burst, BurstResult, HttpAnswer, HttpRequest, Probe, Watch
from stackctl.ports import Progress

CONNECT = 10.0  # seconds for a connection to open
BUFFER = 1 << 20
LAG_EVERY = 0.05
SPARE_FILES = 64


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT, sock_read=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=BUFFER,
    )


async def fetch_alone(request: HttpRequest, timeout: float) -> HttpAnswer:
    async with _session() as session:
        return await _fetch(session, request, timeout)


async def _fetch(session: aiohttp.ClientSession, request: HttpRequest, timeout: float) -> HttpAnswer:
    began = time.monotonic()
    try:
        async with (
            asyncio.timeout(timeout),
            session.request(
                request.method, request.url, data=request.body, headers=plain(request), allow_redirects=False
            ) as answer,
        ):
            body = await answer.read()
            headers = {k.lower(): v for k, v in answer.headers.items()}
            return HttpAnswer(answer.status, headers, body, time.monotonic() - began)
    except TimeoutError:
        return HttpAnswer(None, {}, b"", time.monotonic() - began, f"no answer within {timeout:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return HttpAnswer(None, {}, b"", time.monotonic() - began, words(error))


class RunningBurst:
    """`run` takes it to its end, once."""

    def __init__(self, burst: Burst, on_progress: Progress | None) -> None:
        self.watch: Watch = burst.watch
        self.streams = [LiveStream(request) for request in burst.streams]
        self.on_progress = on_progress
        self.alive_at = 0.0  # when the canary last proved that the engine still answers
        self.wedged_at: float | None = None
        self.canary: HttpAnswer | None = None
        self.canary_after: HttpAnswer | None = None
        self.health: tuple[Probe, ...] = ()
        self.lags: list[float] = []

    async def run(self) -> BurstResult:
        file_limit = not _raise_file_limit(len(self.streams) + SPARE_FILES)
        self.began, cpu = time.monotonic(), time.process_time()
        async with _session() as session:
            tasks = [asyncio.create_task(stream.run(session, self.began)) for stream in self.streams]
            helpers = [asyncio.create_task(self._watch(session)), asyncio.create_task(self._measure_lag())]
            try:
                await asyncio.gather(*tasks)
                if self.wedged_at is not None and self.watch.canary:
                    self.canary_after = await _fetch(session, self.watch.canary, self.watch.canary_timeout)
            finally:
                for task in (*tasks, *helpers):
                    task.cancel()
                await asyncio.gather(*tasks, *helpers, return_exceptions=True)
        wall = max(time.monotonic() - self.began, 1e-6)
        return BurstResult(
            streams=tuple(stream.recorded() for stream in self.streams),
            wedged_at=self.wedged_at,
            canary=self.canary,
            canary_after=self.canary_after,
            health=self.health,
            file_limit=file_limit,
            loop_lag_p99=self._lag(),
            client_cpu=(time.process_time() - cpu) / wall,
        )

    async def _measure_lag(self) -> None:
        while True:
            wanted = time.monotonic() + LAG_EVERY
            await asyncio.sleep(LAG_EVERY)
            self.lags.append(time.monotonic() - wanted)

    def _lag(self) -> float:
        """99th percentile; of a short burst without its worst sample, which is the start of all streams at once."""
        share = max(0.01, 1.5 / len(self.lags)) if self.lags else 0.01
        return quantile(self.lags, max(0.0, 1 - share)) or 0.0

    async def _watch(self, session: aiohttp.ClientSession) -> None:
        tick = min(0.25, min(self.watch.ttft, self.watch.gap, self.watch.wedge) / 8)
        while True:
            await asyncio.sleep(tick)
            now = time.monotonic()
            if self._is_silent(now):
                await self._probe(session)
            else:
                self._leave_silent_ones(now)
            if self.on_progress:
                ended = sum(stream.ended for stream in self.streams)
                self.on_progress.live(f"{ended}/{len(self.streams)} ended")

    def _open(self) -> list[LiveStream]:
        return [stream for stream in self.streams if stream.sent is not None and not stream.ended]

    def _is_silent(self, now: float) -> bool:
        """Streams are open and none has moved for the limit; a stream sent lately still has its time."""
        waiting = self._open()
        if not waiting or self.wedged_at is not None:
            return False
        moved = [stream.last for stream in self.streams if stream.last is not None]
        limit = self.watch.wedge if moved else max(self.watch.wedge, self.watch.ttft)
        latest = max([*moved, *(stream.sent or 0.0 for stream in waiting), self.alive_at])
        return now - latest > limit

    async def _probe(self, session: aiohttp.ClientSession) -> None:
        """Ask every health endpoint and the canary while the streams stay open: an abort might free the engine."""
        asked_at = time.monotonic()
        canary = self.watch.canary
        asks = [_fetch(session, request, self.watch.canary_timeout) for request in self.watch.health]
        if canary:
            asks.append(_fetch(session, canary, self.watch.canary_timeout))
        answers = await asyncio.gather(*asks)
        probes = tuple(Probe(r.url, a) for r, a in zip(self.watch.health, answers, strict=False))
        self.canary = answers[-1] if canary else None
        answered = self.canary is not None and self.canary.status == 200
        moved = any(stream.last is not None and stream.last > asked_at for stream in self.streams)
        if answered or moved or not self._open():
            self.alive_at = time.monotonic()
            return
        self.health = probes
        self.wedged_at = asked_at - self.began
        for stream in self.streams:
            stream.stop("cancelled" if stream.sent is None else "open")

    def _leave_silent_ones(self, now: float) -> None:
        for stream in self._open():
            since = stream.sent if stream.last is None else stream.last
            limit = self.watch.ttft if stream.last is None else self.watch.gap * self.watch.give_up
            if since is not None and now - since > limit:
                stream.stop("open")


def _raise_file_limit(wanted: int) -> bool:
    """Whether this process may open so many files, after asking for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return True
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most >= wanted
