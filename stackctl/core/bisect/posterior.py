"""How likely each hypothesis is after the runs so far, with the failure rates unknown and integrated out.

A run fails with probability p when the culprit is in it, else with q. Both are averaged over grids, never fixed:
a wrong fixed p or q names the wrong culprit with confidence. One start is one observation (fail or pass); several
loads of one start are not counted as several, because they are not independent until shown so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from stackctl.core.bisect.hypotheses import Hypothesis


class Rate:
    """A rate known only as a weighted grid. Its tables by (failures, runs) make every later step O(1)."""

    def __init__(self, grid: Sequence[float], weights: Sequence[float] | None = None) -> None:
        self.grid = tuple(grid)
        total = sum(weights) if weights else float(len(grid))
        self._log_weight = [math.log(w / total) for w in weights or [1.0] * len(grid)]
        self._log_fail = [math.log(r) for r in grid]
        self._log_pass = [math.log1p(-r) for r in grid]
        self._evidence: dict[tuple[int, int], float] = {}

    def _terms(self, fails: int, runs: int) -> list[float]:
        passes = runs - fails
        columns = zip(self._log_weight, self._log_fail, self._log_pass, strict=True)
        return [w + fails * f + passes * p for w, f, p in columns]

    def log_evidence(self, fails: int, runs: int) -> float:
        """ln of the mean over the grid of r^fails (1-r)^(runs-fails)."""
        key = (fails, runs)
        if key not in self._evidence:
            terms = self._terms(fails, runs)
            top = max(terms)
            self._evidence[key] = top + math.log(sum(math.exp(t - top) for t in terms))
        return self._evidence[key]

    def predictive(self, fails: int, runs: int) -> float:
        """The probability that the next run fails."""
        return math.exp(self.log_evidence(fails + 1, runs + 1) - self.log_evidence(fails, runs))

    def interval(self, fails: int, runs: int) -> tuple[float, float, float]:
        """5 % point, mean, 95 % point, on the grid."""
        total = self.log_evidence(fails, runs)
        mass = [math.exp(t - total) for t in self._terms(fails, runs)]
        return self._quantile(mass, 0.05), self.predictive(fails, runs), self._quantile(mass, 0.95)

    def _quantile(self, mass: list[float], share: float) -> float:
        below = 0.0
        for rate, m in zip(self.grid, mass, strict=True):
            below += m
            if below >= share:
                return rate
        return self.grid[-1]


def unknown_p() -> Rate:
    return Rate((0.07, 0.1, 0.14, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.995))


def unknown_q() -> Rate:
    """Wide on purpose: a grid that ends at .03 is wrong in a quarter of the cases where q is .05 to .08."""
    return Rate((0.0005, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12), (3, 1, 1, 1, 1, 0.7, 0.5, 0.3))


@dataclass
class Model:
    """p and q as the posterior knows them."""

    p: Rate = field(default_factory=unknown_p)
    q: Rate = field(default_factory=unknown_q)


@dataclass(frozen=True)
class Counts:
    """Runs of subsets that hold a hypothesis (in), and of the others (out)."""

    fails_in: int
    runs_in: int
    fails_out: int
    runs_out: int


class Posterior:
    """Counts for each hypothesis; `observe` adds a run, everything else is computed from the counts."""

    def __init__(self, candidates: Sequence[Hypothesis], model: Model) -> None:
        self.candidates = tuple(candidates)
        self.model = model
        self.fails = 0
        self.runs = 0
        self._fails_in = [0] * len(self.candidates)
        self._runs_in = [0] * len(self.candidates)
        self._weights: list[float] | None = None

    def observe(self, mask: int, failed: bool) -> None:
        self._weights = None
        self.runs += 1
        self.fails += failed
        for i, hypothesis in enumerate(self.candidates):
            if hypothesis.mask & mask == hypothesis.mask:
                self._runs_in[i] += 1
                self._fails_in[i] += failed

    def counts(self, index: int) -> Counts:
        fails, runs = self._fails_in[index], self._runs_in[index]
        return Counts(fails, runs, self.fails - fails, self.runs - runs)

    def weights(self) -> list[float]:
        """Probabilities, in the order of the candidates; they sum to 1."""
        if self._weights is None:
            logs = self._logs()
            top = max(logs)
            raw = [math.exp(value - top) for value in logs]
            total = sum(raw)
            self._weights = [value / total for value in raw]
        return self._weights

    def _logs(self) -> list[float]:
        table: dict[tuple[int, int], float] = {}
        logs = []
        for i, hypothesis in enumerate(self.candidates):
            key = (self._fails_in[i], self._runs_in[i])
            if key not in table:
                table[key] = self.log_evidence(i)
            logs.append(hypothesis.log_prior + table[key])
        return logs

    def log_evidence(self, index: int) -> float:
        """How well a candidate explains the runs, whatever was thought of it before."""
        fails, runs = self._fails_in[index], self._runs_in[index]
        outside = self.model.q.log_evidence(self.fails - fails, self.runs - runs)
        return self.model.p.log_evidence(fails, runs) + outside

    def ranked(self) -> list[int]:
        """Positions of the candidates, most likely first; equals in the order of the stack."""
        weights = self.weights()
        return sorted(range(len(weights)), key=lambda i: (-weights[i], i))

    def top(self) -> int:
        return self.ranked()[0]

    def predictives(self) -> tuple[list[float], list[float]]:
        """For each candidate: the probability that the next run fails with it in the subset, and without it."""
        table: dict[tuple[int, int], tuple[float, float]] = {}
        inside, outside = [], []
        for key in zip(self._fails_in, self._runs_in, strict=True):
            if key not in table:
                out = self.model.q.predictive(self.fails - key[0], self.runs - key[1])
                table[key] = (self.model.p.predictive(*key), out)
            inside.append(table[key][0])
            outside.append(table[key][1])
        return inside, outside
