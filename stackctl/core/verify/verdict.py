"""From counts to a verdict: bad, clean, inconclusive, or not decided yet.

Bad: two failed requests, or one confirmed contamination, or a wedge. Clean: no failed request in as many as exclude
`max_rate` at `confidence`, and `bursts_min` bursts; after one failure as many again. A lagging client proves
nothing about times, so its bursts do not count towards clean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackctl.core.verify import stats
from stackctl.core.verify.report import Verdict

MUCH = 0.05  # of the requests inconclusive: then the test itself does not work
LAG, CPU, LONG = 0.1, 0.8, 5.0  # seconds of loop lag; share of a core, in bursts of some seconds


@dataclass(frozen=True)
class Rules:
    """`quick`: inside a bisect, where many runs follow each other and bursts_min does not apply."""

    concurrency: int
    bursts_min: int
    bursts_max: int
    max_rate: float
    confidence: float
    quick: bool = False

    @property
    def needed(self) -> int:
        return stats.needed(self.max_rate, self.confidence)

    @property
    def planned(self) -> int:
        """Bursts, when nothing fails."""
        enough = -(-self.needed // self.concurrency)
        return enough if self.quick else max(enough, self.bursts_min)

    @property
    def last(self) -> int:
        """The budget; never less than what a clean verdict needs."""
        return max(self.bursts_max, self.planned)


@dataclass(frozen=True)
class Tally:
    """Counts of the load so far. `requests`: those that prove something; `unclear`: inconclusive ones, by class."""

    requests: int = 0
    failed: int = 0
    bursts: int = 0
    bad_bursts: int = 0
    lagged: int = 0  # bursts in which the client lagged
    contaminated: int = 0  # confirmed by judging the stored bytes again
    wedged: bool = False
    unclear: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    verdict: Verdict
    reason: str
    hint: str | None = None


def is_lagged(lag_p99: float, cpu: float, seconds: float) -> bool:
    """Whether the client itself was too slow for the burst to be measured."""
    return lag_p99 > LAG or (cpu > CPU and seconds >= LONG)


def decide(tally: Tally, rules: Rules) -> Decision | None:
    """None: one more burst."""
    return _bad(tally) or _unusable(tally, rules) or _clean(tally, rules) or _exhausted(tally, rules)


def _bad(tally: Tally) -> Decision | None:
    if tally.wedged:
        return Decision("bad", "wedge: no stream moved and a fresh request did not finish either")
    if tally.contaminated:
        return Decision("bad", "contamination: an answer holds what belongs to another request")
    if tally.failed >= 2:
        return Decision("bad", f"{tally.failed} of {tally.requests} requests failed")
    return None


def _unusable(tally: Tally, rules: Rules) -> Decision | None:
    if tally.unclear.get("length_cut"):
        return Decision("inconclusive", "answers were cut at the test's own max_tokens", "raise max_tokens of the test")
    if tally.lagged >= 3 and 2 * tally.lagged > tally.bursts:
        reason = f"the client itself lagged in {tally.lagged} of {tally.bursts} bursts"
        return Decision("inconclusive", reason, "run the test on a machine with a free core")
    unclear = sum(tally.unclear.values())
    total = tally.requests + unclear
    if unclear > MUCH * total and (tally.bursts >= 2 or unclear == total):
        most = max(tally.unclear, key=tally.unclear.__getitem__)
        hint = {
            "refused": "is the server up? `stackctl status`",
            "http_status": "429 and 503 mean overload: lower the concurrency of the test",
        }.get(most, "`report.json` in the evidence folder names each of them")
        return Decision("inconclusive", f"{unclear} of {total} requests prove nothing, most of them: {most}", hint)
    return None


def _clean(tally: Tally, rules: Rules) -> Decision | None:
    enough = rules.needed * (1 + tally.failed)
    if tally.requests < enough or (tally.bursts < rules.bursts_min and not rules.quick):
        return None
    count = "no request failed" if not tally.failed else "one request failed"
    bound = stats.upper_bound(tally.failed, tally.requests, rules.confidence)
    sure = f"{percent(bound)} at {percent(rules.confidence)} confidence"
    return Decision("clean", f"{count} of {tally.requests}: the failure rate is below {sure}")


def _exhausted(tally: Tally, rules: Rules) -> Decision | None:
    if tally.bursts < rules.last:
        return None
    wanted = rules.needed * (1 + tally.failed)
    reason = f"{tally.bursts} bursts are used up: {tally.failed} failed of {tally.requests}, {wanted} wanted"
    return Decision("inconclusive", reason, "raise bursts.max of the test")


def percent(value: float) -> str:
    """`1.5 %`, `99 %`"""
    return f"{100 * value:.3g} %"
