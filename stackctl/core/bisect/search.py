"""The course of a bisect as a fold: runs go in, the next step comes out, and nothing else is remembered.

Preflight (does the full stack fail, and how), search (the most telling subset each time), confirmation (A/B). What a
run counts for is decided here, from what was observed: a build that fails, a start that fails, a hang or another
fault than the calibrated one is neither pass nor fail, and never speaks for or against a change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from stackctl.core.bisect.choose import Question, choose
from stackctl.core.bisect.confirm import Confirmation, arms_of
from stackctl.core.bisect.hypotheses import BASE_MASS, Hypothesis, Prior, hypotheses, triples
from stackctl.core.bisect.posterior import Model, Posterior
from stackctl.core.bisect.space import Space

Phase = Literal["full", "search", "A", "A'", "A''", "B"]
Judgement = Literal["fail", "pass", "neither", "other", "unbuildable"]
Ending = Literal["CONFIRMED", "LIKELY", "SET", "BASE", "NEVER FAILS", "BUDGET", "INFRA"]

WINDOW, NEITHER_SHARE = 12, 0.25  # more than this share of the last runs neither pass nor fail: not a change
REST = 10  # runs before a subset that gave no answer twice may be tried again
LEAST_BITS = 1e-4  # nothing that can still be built tells more than this
ENOUGH_FOR_THREE, TRIED_FOR_THREE = 12, 4  # runs before three are thought of, and hypotheses they are built upon
CLEARLY = math.log(1000.0)  # how much better three must explain the runs: there are many threes
ROUNDS = 2  # confirmations; a culprit contradicted twice is only likely


@dataclass(frozen=True)
class Outcome:
    """What one run showed, unjudged. `verdict`: of the test, or `unbuildable`. `classes`: failed requests by class."""

    verdict: Literal["bad", "clean", "inconclusive", "unbuildable"]
    reason: str = ""
    signature: str | None = None
    classes: Mapping[str, int] = field(default_factory=dict)
    wedge: bool = False
    minutes: float = 0.0
    start_seconds: float = 0.0
    release: str | None = None
    evidence: str | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The faults it shows, the most frequent first. A hang is only a hang, whatever else broke with it."""
        if self.wedge:
            return ("wedge",)
        shown = [self.signature or "bad"]
        shown += [name for name, count in sorted(self.classes.items()) if count >= 2]
        return tuple(dict.fromkeys(shown))


@dataclass(frozen=True)
class Run:
    """One start and one load. `mask`: the members that were in."""

    number: int
    phase: Phase
    mask: int
    outcome: Outcome


@dataclass(frozen=True)
class Plan:
    """What a session is asked to do, fixed when it starts."""

    space: Space
    prior: Prior = "weighted"
    seed: str = "0"
    stop: float = 0.97
    min_rate: float = 0.5
    base_mass: float = BASE_MASS


@dataclass(frozen=True)
class Try:
    """Run this subset next."""

    phase: Phase
    mask: int


@dataclass(frozen=True)
class Done:
    """The end, or a pause (BUDGET, INFRA): a later call goes on."""

    kind: Ending
    reason: str


def judge(outcome: Outcome, signature: str) -> Judgement:
    """What a run counts for, once the fault that is looked for is known."""
    if outcome.verdict == "bad":
        return "fail" if signature in outcome.labels else "other"
    if outcome.verdict == "clean":
        return "pass"
    return "unbuildable" if outcome.verdict == "unbuildable" else "neither"


def calibrate(full: list[Outcome]) -> str | None:
    """The fault that two failures of the full stack have in common: the primary one if it is, else any."""
    bad = [outcome.labels for outcome in full if outcome.verdict == "bad"]
    shared = [label for label in dict.fromkeys(sum(bad, ())) if sum(label in labels for labels in bad) >= 2]
    if not shared:
        return None
    return max(shared, key=lambda label: (sum(labels[0] == label for labels in bad), -shared.index(label)))


def starts_to_exclude(rate: float) -> int:
    """Clean starts that exclude a failure rate of `rate` at 95 %."""
    return 1 if rate >= 1.0 else math.ceil(math.log(0.05) / math.log(1.0 - rate) - 1e-9)


class Search:
    """Feed it the runs in order; ask it what to do next."""

    def __init__(self, plan: Plan, model: Model | None = None) -> None:
        self.plan = plan
        self.space = plan.space
        self.model = model or Model()
        self.candidates = hypotheses(plan.space, plan.prior, plan.base_mass)
        self.posterior = Posterior(self.candidates, self.model)
        self.signature: str | None = None
        self.confirmation: Confirmation | None = None
        self.contradictions: list[str] = []
        self.runs: list[Run] = []
        self.fixed = 0  # a pair that is necessary and not sufficient: the third is looked for with it in
        self._observed: list[tuple[int, bool]] = []
        self._waiting: list[Run] = []  # until the fault that is looked for is known
        self._since_pause = 0

    def feed(self, run: Run) -> None:
        self.runs.append(run)
        self._waiting.append(run)
        if self.signature is None:
            self.signature = calibrate([r.outcome for r in self.runs if r.mask == self.space.full])
        if self.signature is not None:
            for waiting in self._waiting:
                self._take(waiting, judge(waiting.outcome, self.signature))
            self._waiting.clear()

    def paused(self) -> None:
        """The user was told and goes on: what was neither before does not count again."""
        self._since_pause = len(self.runs)

    @property
    def top(self) -> Hypothesis:
        return self.candidates[self.culprit]

    @property
    def culprit(self) -> int:
        """Position of the hypothesis that is being confirmed, else of the most likely."""
        return self.confirmation.culprit if self.confirmation else self.posterior.top()

    def judged(self, run: Run) -> Judgement:
        """Before calibration, a bad run is a failure."""
        if self.signature is not None:
            return judge(run.outcome, self.signature)
        return judge(run.outcome, run.outcome.labels[0])

    def _take(self, run: Run, judgement: Judgement) -> None:
        if judgement not in ("pass", "fail"):
            return
        failed = judgement == "fail"
        if run.phase in ("full", "search"):
            self._observe(run.mask, failed)
            self._suspect_three()
            return
        confirmation = self.confirmation or self._begin()
        if not any(arm.name == run.phase and arm.mask == run.mask for arm in confirmation.arms):
            self._observe(run.mask, failed)  # of a round that an undo has made void
            return
        confirmation.add(run.phase, failed)
        self.confirmation = confirmation
        self._check(confirmation)

    def _observe(self, mask: int, failed: bool) -> None:
        self._observed.append((mask, failed))
        self.posterior.observe(mask, failed)

    def _begin(self) -> Confirmation:
        top = self.posterior.top()
        return Confirmation(top, arms_of(self.space, self.candidates[top]), self.posterior.counts(top), self.model)

    def _check(self, confirmation: Confirmation) -> None:
        """A contradicted round becomes part of the search, which goes on with all that was seen."""
        against = confirmation.contradicted
        if against is None:
            return
        for arm in confirmation.arms:
            for k in range(arm.runs):
                self._observe(arm.mask, k < arm.fails)
        self.contradictions.append("not sufficient alone" if against.name == "B" else "not the only cause")
        self.confirmation = None
        culprit = self.candidates[confirmation.culprit]
        if against.name == "B" and culprit.kind == "pair" and not self.fixed:
            self._widen(culprit)

    def _widen(self, pair: Hypothesis) -> None:
        """Look for the third member of a pair that did not fail alone."""
        self.fixed = pair.mask
        self.candidates = (*self.candidates, *triples(self.space, pair))
        self.posterior = Posterior(self.candidates, self.model)
        for mask, failed in self._observed:
            self.posterior.observe(mask, failed)

    def _suspect_three(self) -> None:
        """When no pair explains the runs, but three members around one do much better, look for the third."""
        if self.fixed or len(self._observed) < ENOUGH_FOR_THREE:
            return
        best = self.posterior.log_evidence(self.posterior.top())
        ranked = (self.candidates[i] for i in self.posterior.ranked()[:TRIED_FOR_THREE])
        for pair in (candidate for candidate in ranked if candidate.kind == "pair"):
            wider = Posterior(triples(self.space, pair), self.model)
            for mask, failed in self._observed:
                wider.observe(mask, failed)
            if wider.candidates and wider.log_evidence(wider.top()) > best + CLEARLY:
                self._widen(pair)
                return

    def next(self) -> Try | Done:
        """What to do now. The same runs give the same answer."""
        if self._is_infrastructure():
            last = next(run.outcome for run in reversed(self.runs) if self.judged(run) in ("neither", "other"))
            told = last.reason or f"another fault: {last.labels[0]}"
            return Done("INFRA", f"too many of the last {WINDOW} runs gave neither pass nor fail; the last: {told}")
        if self.runs and self._wants_again(self.runs[-1]):
            return Try(self.runs[-1].phase, self.runs[-1].mask)
        if self.signature is None:
            return self._preflight()
        if self.confirmation:
            return self._confirm(self.confirmation)
        weights = self.posterior.weights()
        top = self.posterior.top()
        if weights[top] >= self.plan.stop:
            return self._believe(top)
        return self._look()

    def _is_infrastructure(self) -> bool:
        recent = [self.judged(run) for run in self.runs[self._since_pause :]][-WINDOW:]
        return sum(j in ("neither", "other") for j in recent) > NEITHER_SHARE * WINDOW

    def _wants_again(self, run: Run) -> bool:
        """No answer, for the first time in a row: once more. Another fault is an answer, only not ours."""
        if self.judged(run) != "neither":
            return False
        before = self.runs[-2] if len(self.runs) > 1 else None
        return not (before and before.mask == run.mask and self.judged(before) == "neither")

    def _preflight(self) -> Try | Done:
        outcomes = [run.outcome.verdict for run in self.runs if run.mask == self.space.full]
        bad, clean = outcomes.count("bad"), outcomes.count("clean")
        needed = starts_to_exclude(self.plan.min_rate)
        if bad + clean >= needed * (2 if bad else 1) and bad < 2:
            seen = f"{bad} of {bad + clean} starts failed" if bad else f"{clean} clean starts"
            return Done("NEVER FAILS", f"{seen}: a rate of {self.plan.min_rate:.0%} or more is excluded at 95 %")
        if bad >= 4 + needed:
            return Done("SET", "the full stack fails in a different way each time")
        return Try("full", self.space.full)

    def _believe(self, top: int) -> Try | Done:
        kind = self.candidates[top].kind
        if kind == "base":
            return Done("BASE", "it fails without any of the elements")
        if kind == "none":
            return Done("NEVER FAILS", "the failures look like false alarms")
        if len(self.contradictions) >= ROUNDS:
            return Done("LIKELY", "the confirmation contradicted it: " + ", ".join(self.contradictions))
        return self._confirm(self._begin())

    def _confirm(self, confirmation: Confirmation) -> Try | Done:
        if confirmation.confirmed:
            return Done("CONFIRMED", f"Bayes factor {confirmation.factor:,.0f}")
        arm = confirmation.next_arm()
        if arm is None:
            return Done("LIKELY", "the confirmation found no clear answer")
        if not self.space.allows(arm.mask) or arm.mask in self._unbuildable():
            return Done("LIKELY", f"{arm.name} of the confirmation cannot be built")
        return Try(arm.name, arm.mask)

    def _unbuildable(self) -> frozenset[int]:
        return frozenset(run.mask for run in self.runs if self.judged(run) == "unbuildable")

    def _look(self) -> Try | Done:
        resting = (run for run in self.runs[-REST:] if self.judged(run) in ("neither", "other"))
        avoid = self._unbuildable() | {run.mask for run in resting}
        last = self.runs[-1].mask if self.runs else None
        choice = choose(
            self.space,
            self.posterior,
            Question(self.plan.seed, self.runs[-1].number + 1 if self.runs else 1, avoid, last, self.fixed),
        )
        if choice is None or choice.bits < LEAST_BITS:
            return Done("SET", "nothing that can be built tells the remaining ones apart")
        return Try("search", choice.mask)
