"""What the control at C=1 measured, and what follows from it: faults that are the model's own, and time limits.

A fault that shows without load is no fault of concurrency; without a clean control before it, no load is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from stackctl.core.verify import classes
from stackctl.core.verify.classify import Judgement
from stackctl.core.verify.known import Control
from stackctl.core.verify.load import Sent
from stackctl.core.verify.wire import Stream

TOLERANCE = 0.1  # of the control may show faults that could be the model's own
SLACK = 10  # times what was measured alone


@dataclass(frozen=True)
class Count:
    """`bad`: with a fault that no model makes; `maybe`: with others only."""

    runs: int
    bad: int
    maybe: int

    @property
    def failed(self) -> bool:
        return self.bad > 0 or self.maybe > TOLERANCE * self.runs

    def __str__(self) -> str:
        return f"{self.runs - self.bad - self.maybe}/{self.runs} clean"


def count(judgements: Iterable[Judgement]) -> Count:
    runs = bad = maybe = 0
    for judgement in judgements:
        runs += 1
        serious = any(f.verdict != "warn" and f.cls not in classes.MAYBE_MODEL for f in judgement.findings)
        bad += serious
        maybe += not serious and any(f.cls in classes.MAYBE_MODEL for f in judgement.findings)
    return Count(runs, bad, maybe)


@dataclass
class Controls:
    """`gap`, `ttft`: limits in seconds. `trusted`: runs that an earlier, longer control of a session vouches for."""

    gap: float
    ttft: float
    trusted: int = 0
    needed: int = 20
    sent: list[Sent] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    slowest: float = 0.0  # seconds that an answer took alone

    def add(self, sent: Sequence[Sent], judgements: Sequence[Judgement], streams: Sequence[Stream]) -> None:
        """The bursts of the control, in the order of their streams."""
        self.sent += sent
        self.judgements += judgements
        self.slowest = max([self.slowest, *(stream.end_at for stream in streams)])

    def of(self, sent: Sent) -> Control:
        """For one request of the load: prompt tokens of the very same body, completion tokens of like prompts."""
        usages = [(s, j.reply.usage or {}) for s, j in zip(self.sent, self.judgements, strict=True)]
        same = [u["prompt_tokens"] for s, u in usages if "prompt_tokens" in u and s.case.body == sent.case.body]
        like = [
            u["completion_tokens"] for s, u in usages if "completion_tokens" in u and s.case.group == sent.case.group
        ]
        return Control(
            runs=max(self.trusted, len(self.sent)),
            classes=frozenset(f.cls for j in self.judgements for f in j.findings if f.cls in classes.MAYBE_MODEL),
            prompt_tokens=same[0] if same else None,
            completion_tokens=max(like, default=None),
            needed=self.needed,
        )

    def measured(self) -> tuple[float, float]:
        """Limits that the slowness of this server asks for: of gaps, and of the first token."""
        progress = [j.reply.progress for j in self.judgements if j.reply.progress]
        gaps = [b - a for times in progress for a, b in pairwise(times)]
        return SLACK * max(gaps, default=0.0), SLACK * max((times[0] for times in progress), default=0.0)
