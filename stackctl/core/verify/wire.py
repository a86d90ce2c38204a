"""What goes over the wire and what came back, as values: requests, bursts, and recorded bytes with their times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from stackctl.core.names import Secret

End = Literal["eof", "reset", "refused", "open", "cancelled"]


@dataclass(frozen=True)
class HttpRequest:
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    token: Secret | None = None  # sent as `Authorization: Bearer …`; never part of an answer or of evidence


@dataclass(frozen=True)
class HttpAnswer:
    """status None: no answer; then `error` says why."""

    status: int | None
    headers: Mapping[str, str]
    body: bytes
    seconds: float
    error: str | None = None


@dataclass(frozen=True)
class StreamRequest:
    """One stream of a burst. `start_at`: seconds after the burst began; `cancel_after`: seconds after its own start."""

    id: str
    request: HttpRequest
    start_at: float = 0.0
    cancel_after: float | None = None


@dataclass(frozen=True)
class Stream:
    """What came back: `chunks` are (seconds since the request was sent, bytes); borders mean nothing."""

    id: str
    status: int | None
    headers: Mapping[str, str]
    head_at: float | None
    chunks: tuple[tuple[float, bytes], ...]
    end: End
    end_at: float
    error: str | None = None
    reused: bool = False  # sent on a kept-alive connection
    started_at: float = 0.0  # seconds after the burst began


@dataclass(frozen=True)
class Watch:
    """When to give up, in seconds. Progress is what `reply.is_progress` says: comments and role events are none.

    A stream without its first progress for `ttft`, or silent for `give_up` times `gap`, is left (`open`); between
    `gap` and that it may still recover. When no stream at all has progressed for `wedge` (for `ttft`, when none ever
    did), the health requests and the canary are sent, while the streams stay open. Only when the canary fails too is
    the burst wedged; then the streams are aborted and the canary is tried once more.
    """

    ttft: float = 60.0
    gap: float = 30.0
    give_up: float = 1.5
    wedge: float = 30.0
    canary: HttpRequest | None = None
    canary_timeout: float = 15.0
    health: tuple[HttpRequest, ...] = ()


@dataclass(frozen=True)
class Burst:
    streams: tuple[StreamRequest, ...]
    watch: Watch = Watch()


@dataclass(frozen=True)
class Probe:
    """A health answer at the moment when nothing moved."""

    url: str
    answer: HttpAnswer


@dataclass(frozen=True)
class BurstResult:
    streams: tuple[Stream, ...]
    wedged_at: float | None = None  # seconds after the burst began, when no stream had moved for `watch.wedge`
    canary: HttpAnswer | None = None  # the last one asked, while no stream moved
    canary_after: HttpAnswer | None = None  # once more, after the streams of a wedged burst were aborted
    health: tuple[Probe, ...] = ()
    file_limit: bool = False  # this process may not open enough files for so many streams
    loop_lag_p99: float = 0.0  # of the client itself, seconds
    client_cpu: float = 0.0  # share of one core
