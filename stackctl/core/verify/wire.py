"""What goes over the wire and what came back, as values: requests, bursts, and recorded bytes with their times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

End = Literal["eof", "reset", "refused", "open", "cancelled"]


@dataclass(frozen=True)
class HttpRequest:
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


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


@dataclass(frozen=True)
class Watch:
    """When to give up: no byte of a stream for `gap` (open), of any stream for `wedge`; then the probes are sent."""

    ttft: float = 60.0
    gap: float = 30.0
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
    canary: HttpAnswer | None = None
    health: tuple[Probe, ...] = ()
    loop_lag_p99: float = 0.0  # of the client itself, seconds
    client_cpu: float = 0.0  # share of one core
