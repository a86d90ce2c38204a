"""The outcome of one run of a test: what bisect counts and what a person reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["clean", "bad", "inconclusive"]


@dataclass(frozen=True)
class Finding:
    """One classified fault of one request (or of the run: `request` None). Classes: facts of classify.py, in order."""

    cls: str
    where: str | None = None
    sub: str | None = None
    request: str | None = None
    verdict: Literal["bad", "inconclusive", "warn"] = "bad"
    detail: str = ""
    quote: str = ""  # a piece of what was received, when there is something to point at …
    mark: tuple[int, int] | None = None  # … and where in it


@dataclass(frozen=True)
class Timings:
    """Seconds, medians and 99th percentiles over the good requests of the load; None when nothing was measured."""

    ttft_p50: float | None = None
    ttft_p99: float | None = None
    gap_p99: float | None = None
    tokens_per_second: float | None = None
    start_seconds: float | None = None  # of the deployment, from its record


@dataclass(frozen=True)
class TestReport:
    """`bound`: one-sided exact upper bound of the failure rate at `confidence`, given `failed` of `requests`."""

    __test__ = False
    test: str
    kind: Literal["toolcalls", "command"]
    verdict: Verdict
    reason: str
    url: str
    stack: str | None = None
    release: str | None = None
    variant: str = ""  # of the release that answered; empty: as the stack file says
    concurrency: int = 1
    bursts: int = 0
    bad_bursts: int = 0
    requests: int = 0
    failed: int = 0
    bound: float | None = None
    confidence: float = 0.99
    classes: Mapping[str, int] = field(default_factory=dict)  # primary class of each failed request -> how many
    signature: str | None = None  # the most frequent primary class, or `wedge`; what bisect compares
    wedge: bool = False
    control: Mapping[str, str] = field(default_factory=dict)  # "before"/"after" -> "20/20 clean"
    findings: tuple[Finding, ...] = ()
    timings: Timings = Timings()
    evidence: str | None = None  # folder
    seconds: float = 0.0
    exit_code: int | None = None  # kind command: what the program said
    hint: str | None = None  # what to do when it is inconclusive
    interrupted: bool = False
    inconclusive: Mapping[str, int] = field(default_factory=dict)  # primary class of requests that prove nothing
    warnings: Mapping[str, int] = field(default_factory=dict)  # classes of warn findings -> how many
    needed: int = 0  # requests without a failure that make it clean
    max_rate: float = 0.02

    @property
    def exit(self) -> int:
        return {"clean": 0, "bad": 1, "inconclusive": 125}[self.verdict]
