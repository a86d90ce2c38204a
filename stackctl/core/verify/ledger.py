"""The accounts of the load: what each judged burst adds to the counts, and the pieces of the report made of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise

from stackctl.core.verify import classes
from stackctl.core.verify.classify import Judgement
from stackctl.core.verify.judge import Judged, seconds
from stackctl.core.verify.report import Finding, Timings
from stackctl.core.verify.stats import quantile
from stackctl.core.verify.verdict import Tally
from stackctl.core.verify.wire import BurstResult, Probe, Stream

ALWAYS_SHOWN = ("leak", "contamination", "stall")


@dataclass
class Ledger:
    """`failures`: primary class of each failed request; `warnings`: every class that only warns."""

    tally: Tally = field(default_factory=Tally)
    failures: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    ttft: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0

    def add(self, judged: Judged, contaminated: int) -> None:
        """One burst; `contaminated`: how many contaminations of it were confirmed."""
        counts: Counter[str] = Counter()
        unclear = Counter(self.tally.unclear)
        for judgement, stream in zip(judged.judgements, judged.result.streams, strict=True):
            counts[self._count(judgement, stream, judged.lagged)] += 1
            if judgement.verdict == "inconclusive":
                unclear[judgement.primary or ""] += 1
        wedged = judged.result.wedged_at is not None
        if wedged:
            self.findings.insert(0, wedge(judged.result))
        self.seconds += seconds(judged.result)
        self.tally = replace(
            self.tally,
            requests=self.tally.requests + counts["good"] + counts["bad"],
            failed=self.tally.failed + counts["bad"],
            bursts=self.tally.bursts + 1,
            bad_bursts=self.tally.bad_bursts + bool(counts["bad"] or wedged),
            lagged=self.tally.lagged + judged.lagged,
            contaminated=self.tally.contaminated + contaminated,
            wedged=self.tally.wedged or wedged,
            unclear=dict(unclear),
        )

    def _count(self, judgement: Judgement, stream: Stream, lagged: bool) -> str:
        """good, bad, or nothing: inconclusive, cancelled by the test, or good while the client lagged."""
        self.findings += judgement.findings
        self.warnings.update(f.cls for f in judgement.findings if f.verdict == "warn")
        if judgement.verdict == "bad":
            self.failures[_bad_class(judgement)] += 1
            return "bad"
        if judgement.verdict == "inconclusive" or stream.end == "cancelled":
            return "nothing"
        progress = judgement.reply.progress
        self.ttft += progress[:1]
        self.gaps += [b - a for a, b in pairwise(progress)]
        self.tokens += (judgement.reply.usage or {}).get("completion_tokens", len(progress))
        return "nothing" if lagged else "good"

    @property
    def signature(self) -> str | None:
        """`wedge`, or the class of most failed requests."""
        if self.tally.wedged:
            return "wedge"
        return min(self.failures, key=lambda c: (-self.failures[c], classes.rank(c)), default=None)

    def timings(self, start_seconds: float | None) -> Timings:
        return Timings(
            ttft_p50=quantile(self.ttft, 0.5),
            ttft_p99=quantile(self.ttft, 0.99),
            gap_p99=quantile(self.gaps, 0.99),
            tokens_per_second=self.tokens / self.seconds if self.tokens and self.seconds else None,
            start_seconds=start_seconds,
        )

    def line(self, planned: int) -> str:
        """`burst 7/20  418/420 ok  leak 0  contamination 0  stall 0  nonce 2  p99 gap 0.80 s`"""
        tally = self.tally
        shown = dict.fromkeys(ALWAYS_SHOWN, 0) | dict(self.failures)
        words = [f"burst {tally.bursts}/{planned}", f"{tally.requests - tally.failed}/{tally.requests} ok"]
        words += [f"{cls} {number}" for cls, number in shown.items()]
        gap = quantile(self.gaps, 0.99)
        return "  ".join(words + ([f"p99 gap {gap:.2f} s"] if gap is not None else []))


def _bad_class(judgement: Judgement) -> str:
    """The first class that makes it bad: an inconclusive one before it does not name the fault."""
    return classes.primary(tuple(f for f in judgement.findings if f.verdict == "bad")) or ""


def wedge(result: BurstResult) -> Finding:
    """The run's own finding, with what every health endpoint said at that moment."""
    words = [f"nothing moved any more at {result.wedged_at:.1f} s of the burst"]
    words += [_said(p) for p in result.health if not p.url.endswith("/metrics")]
    if result.canary:
        words.append(f"a fresh request: {result.canary.error or f'HTTP {result.canary.status}'}")
    if result.canary_after:
        words.append(f"recovers after abort: {'yes' if result.canary_after.status == 200 else 'no'}")
    green = any(p.answer.status == 200 for p in result.health if p.url.endswith("/health"))
    return Finding("wedge", None, "health_ok" if green else None, None, "bad", "; ".join(words))


def _said(probe: Probe) -> str:
    answer = probe.answer
    said = f" said {answer.status} in {answer.seconds:.2f} s"
    return probe.url + (said if answer.status else f": {answer.error}")
