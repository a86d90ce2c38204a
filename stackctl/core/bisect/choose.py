"""Which subset to try next: the one that is expected to tell most about the culprit.

Every variant costs one start and one load, and none a build, so that the most per run is the most per minute.
The information of a subset is a sum over hypotheses of at most two members, so that switching one member changes it
by a row of a table: a hill climb over 66 elements takes milliseconds. Same events, same choice: what is random comes
from the session's seed and the number of the run, never from a generator with a state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stackctl.core.bisect.posterior import Posterior
from stackctl.core.bisect.space import Space, bits, draw

SWEEPS = 12  # a climb that still moves after so many is close enough
SAME = 1e-12


@dataclass(frozen=True)
class Choice:
    """`bits`: expected information about the culprit."""

    mask: int
    bits: float


@dataclass(frozen=True)
class Question:
    """What the choice depends on besides the posterior.

    `avoid`: not to be tried now; `last`: the subset before; `fixed`: a closed set that stays in.
    """

    seed: str
    number: int
    avoid: frozenset[int] = frozenset()
    last: int | None = None
    fixed: int = 0


def entropy(p: float) -> float:
    """Of one yes-or-no answer, in bits."""
    if p <= 0.0 or p >= 1.0:
        return 0.0
    return -(p * math.log2(p) + (1.0 - p) * math.log2(1.0 - p))


class _Tables:
    """P(fail) and the entropy that stays, as sums over the members of a subset and over their pairs.

    Of three members at least one must be fixed: it then counts for nothing.
    """

    def __init__(self, space: Space, posterior: Posterior, fixed: int = 0) -> None:
        size = space.size
        self.base = [0.0, 0.0]
        self.single = [[0.0] * size, [0.0] * size]
        self.pair = [[[0.0] * size for _ in range(size)] for _ in range(2)]
        cache: dict[float, float] = {}
        columns = zip(posterior.candidates, posterior.weights(), *posterior.predictives(), strict=True)
        for hypothesis, weight, inside, outside in columns:
            h_in = cache.setdefault(inside, entropy(inside))
            h_out = cache.setdefault(outside, entropy(outside))
            self.base[0] += weight * outside
            self.base[1] += weight * h_out
            if hypothesis.kind == "none":
                continue
            free = [i for i in hypothesis.members if not fixed >> i & 1]
            for t, delta in enumerate((weight * (inside - outside), weight * (h_in - h_out))):
                match free:
                    case []:
                        self.base[t] += delta
                    case [i]:
                        self.single[t][i] += delta
                    case _:
                        i, j = free
                        self.pair[t][i][j] += delta
                        self.pair[t][j][i] += delta


class _Point:
    """A subset with its sums, and for each member what switching it on would add (or off would take)."""

    def __init__(self, tables: _Tables, mask: int) -> None:
        self.tables = tables
        self.mask = 0
        self.sums = list(tables.base)
        self.gain = [list(tables.single[0]), list(tables.single[1])]
        for i in bits(mask):
            self.switch(1 << i)

    @property
    def information(self) -> float:
        return entropy(self.sums[0]) - self.sums[1]

    def after(self, flip: int) -> float:
        """The information if all of `flip` were switched the other way (all on, or all off)."""
        sums = self._moved(flip)
        return entropy(sums[0]) - sums[1]

    def _moved(self, flip: int) -> list[float]:
        sign = -1.0 if flip & self.mask else 1.0
        sums = list(self.sums)
        members = list(bits(flip))
        for t in range(2):
            gain, pair = self.gain[t], self.tables.pair[t]
            between = sum(pair[i][j] for k, i in enumerate(members) for j in members[k + 1 :])
            sums[t] += sign * sum(gain[i] for i in members) + between
        return sums

    def switch(self, flip: int) -> None:
        sign = -1.0 if flip & self.mask else 1.0
        self.sums = self._moved(flip)
        self.mask ^= flip
        for t in range(2):
            gain = self.gain[t]
            for i in bits(flip):
                self.gain[t] = gain = [g + sign * d for g, d in zip(gain, self.tables.pair[t][i], strict=True)]


def choose(space: Space, posterior: Posterior, question: Question) -> Choice | None:
    """The best subset found, or None when every one is avoided or known to be unbuildable."""
    tables = _Tables(space, posterior, question.fixed)
    found: dict[int, Choice] = {}
    for start in _starts(space, posterior, question):
        point = _Point(tables, start)
        order = sorted(range(space.size), key=lambda i: draw(question.seed, question.number, start, i))
        _climb(space, question, point, order)
        if _allowed(space, question, point.mask):
            found[point.mask] = Choice(point.mask, max(0.0, point.information))
    if not found:
        return None
    best = max(choice.bits for choice in found.values())
    equals = [choice for choice in found.values() if choice.bits >= best - SAME]
    return min(equals, key=lambda c: draw(question.seed, question.number, c.mask))


def _allowed(space: Space, question: Question, mask: int) -> bool:
    return mask not in question.avoid and mask & question.fixed == question.fixed and space.allows(mask)


def _climb(space: Space, question: Question, point: _Point, order: Sequence[int]) -> None:
    """Switch one member after the other, with all it needs or all that need it, while that tells more."""
    value = point.information if _allowed(space, question, point.mask) else -1.0
    for _ in range(SWEEPS):
        moved = False
        for i in order:
            on = point.mask >> i & 1
            flip = space.dependents[i] & point.mask if on else space.closure[i] & ~point.mask
            if not _allowed(space, question, point.mask ^ flip):
                continue
            after = point.after(flip)
            if after > value + SAME:
                point.switch(flip)
                value, moved = after, True
        if not moved:
            return


def _starts(space: Space, posterior: Posterior, question: Question) -> list[int]:
    """Where the climbs begin: full, two prefixes, random closed sets, the top hypothesis, the last subset."""
    weights = posterior.weights()
    top = posterior.candidates[posterior.top()].mask & space.full
    starts = [space.full, *_prefixes(space, posterior, weights), top]
    for k, density in enumerate((0.5, 0.75, 0.5, 0.75)):
        picked = (1 << i for i in range(space.size) if draw(question.seed, question.number, "start", k, i) < density)
        starts.append(_closed_inside(space, sum(picked)))
    if question.last is not None:
        starts.append(question.last)
    return list(dict.fromkeys(start | question.fixed for start in starts))


def _closed_inside(space: Space, mask: int) -> int:
    """The largest closed set within `mask`."""
    return sum(1 << i for i in bits(mask) if space.closure[i] & mask == space.closure[i])


def _prefixes(space: Space, posterior: Posterior, weights: Sequence[float]) -> list[int]:
    """The shortest prefixes of the order that hold .3 and .5 of the posterior mass."""
    last = [0.0] * space.size
    for hypothesis, weight in zip(posterior.candidates, weights, strict=True):
        if hypothesis.members:
            last[max(hypothesis.members)] += weight
    prefixes, mass, mask = [], 0.0, 0
    goals = [0.3, 0.5]
    for i, share in enumerate(last):
        mass += share
        mask |= 1 << i
        while goals and mass >= goals[0]:
            prefixes.append(space.close(mask))
            goals.pop(0)
    return prefixes
