"""The final A/B: is the culprit necessary (full without it passes) and sufficient (alone on the base it fails)?

Its runs are fresh starts and no part of the search's posterior, so that they can contradict it. For a pair there are
two A arms, each without one member (three for three). The rival: a further member or another bug, under which A fails
and B does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from stackctl.core.bisect.hypotheses import Hypothesis
from stackctl.core.bisect.posterior import Counts, Model
from stackctl.core.bisect.space import Space

ArmName = Literal["A", "A'", "A''", "B"]
ENOUGH = math.log(10.0)  # Bayes factor of every arm alone; two arms and more make it 100 over all, where 20 is asked
MOST_RUNS = 60  # of one arm; a rate that needs more cannot be confirmed in a day


@dataclass(frozen=True)
class Arm:
    """B is expected to fail, the others to pass."""

    name: ArmName
    mask: int
    fails: int = 0
    runs: int = 0

    def log_bayes(self, counts: Counts, model: Model) -> float:
        """ln of how much better the culprit explains this arm than the rival does."""
        as_in = _gain(model.p.log_evidence, counts.fails_in, counts.runs_in, self)
        as_out = _gain(model.q.log_evidence, counts.fails_out, counts.runs_out, self)
        return as_in - as_out if self.name == "B" else as_out - as_in


def _gain(evidence: Callable[[int, int], float], fails: int, runs: int, arm: Arm) -> float:
    return evidence(fails + arm.fails, runs + arm.runs) - evidence(fails, runs)


def arms_of(space: Space, culprit: Hypothesis) -> tuple[Arm, ...]:
    """A without the cheaper member (a flag costs no rebuild), A' without another, B the culprit alone."""
    members = sorted(culprit.members, key=lambda i: (space.members[i].is_patch, space.dependents[i].bit_count(), i))
    names: tuple[ArmName, ...] = ("A", "A'", "A''")
    passes = tuple(Arm(name, space.drop(space.full, 1 << i)) for name, i in zip(names, members, strict=False))
    return (*passes, Arm("B", culprit.mask))


@dataclass
class Confirmation:
    """One round for one culprit (position among the hypotheses). `counts`: of the search when the round began."""

    culprit: int
    arms: tuple[Arm, ...]
    counts: Counts
    model: Model

    def add(self, name: str, failed: bool) -> None:
        self.arms = tuple(
            replace(arm, fails=arm.fails + failed, runs=arm.runs + 1) if arm.name == name else arm for arm in self.arms
        )

    def bayes(self, arm: Arm) -> float:
        """With p and q as the search and the other arms know them."""
        others = [other for other in self.arms if other is not arm]
        inside = [other for other in others if other.name == "B"]
        outside = [other for other in others if other.name != "B"]
        known = Counts(
            self.counts.fails_in + sum(other.fails for other in inside),
            self.counts.runs_in + sum(other.runs for other in inside),
            self.counts.fails_out + sum(other.fails for other in outside),
            self.counts.runs_out + sum(other.runs for other in outside),
        )
        return arm.log_bayes(known, self.model)

    @property
    def factor(self) -> float:
        """The Bayes factor over all arms, at most 1e9."""
        return math.exp(min(math.log(1e9), sum(map(self.bayes, self.arms))))

    def settled(self, arm: Arm) -> bool:
        return arm.runs > 0 and self.bayes(arm) >= ENOUGH

    @property
    def confirmed(self) -> bool:
        return all(map(self.settled, self.arms))

    @property
    def contradicted(self) -> Arm | None:
        """The first arm that speaks against the culprit as clearly as an arm must speak for it."""
        return next((arm for arm in self.arms if self.bayes(arm) <= -ENOUGH), None)

    def next_arm(self) -> Arm | None:
        """The least tried of those that are not settled, B first; None when it has used up its runs."""
        arm = min((arm for arm in self.arms if not self.settled(arm)), key=lambda a: (a.runs, a.name != "B"))
        return arm if arm.runs < MOST_RUNS else None
