"""A world whose culprit, p and q are known, for the tests of a bisect: no server, only a seeded coin for each run."""

from __future__ import annotations

from dataclasses import dataclass

from stackctl.core.bisect.posterior import Model, Rate
from stackctl.core.bisect.search import Done, Outcome, Phase, Plan, Run, Search, Try
from stackctl.core.bisect.session import MOST_RUNS
from stackctl.core.bisect.space import Member, Space, draw, make_space


@dataclass(frozen=True)
class World:
    """`truth`: single, patch-flag, patch-patch, flag, base or none. `p`, `q`: of a run with it, and without."""

    patches: int
    flags: int
    truth: str
    p: float = 1.0
    q: float = 0.0
    unbuildable: float = 0.0  # share of the subsets that cannot be built


@dataclass(frozen=True)
class Told:
    """How a trial ended."""

    kind: str
    right: bool
    runs: int
    searched: int


def space_of(world: World, seed: str) -> Space:
    """Each patch needs one of the five before it with probability .25; one flag needs one patch."""
    members = [Member(f"patch:p{i}") for i in range(world.patches)]
    members += [Member(f"flag:f{i}") for i in range(world.flags)]
    needs = {}
    for i in range(1, world.patches):
        if draw(seed, "needs", i) < 0.25:
            first = max(0, i - 5)
            needs[f"patch:p{i}"] = [f"patch:p{first + int(draw(seed, 'of', i) * (i - first))}"]
    if world.flags:
        needs["flag:f0"] = [f"patch:p{int(draw(seed, 'flag') * world.patches)}"]
    return make_space(tuple(members), needs)


def truth_of(world: World, space: Space, seed: str) -> int | None:
    """The closed set that fails; None when nothing does."""
    patch = int(draw(seed, "patch") * world.patches)
    other = (patch + 1 + int(draw(seed, "other") * (world.patches - 1))) % world.patches
    flag = world.patches + int(draw(seed, "which") * world.flags) if world.flags else 0
    sets = {
        "single": 1 << patch,
        "flag": 1 << flag,
        "patch-flag": 1 << patch | 1 << flag,
        "patch-patch": 1 << patch | 1 << other,
        "base": 0,
    }
    return None if world.truth == "none" else space.close(sets[world.truth])


def outcome_of(world: World, seed: str, number: int, mask: int, truth: int | None) -> Outcome:
    full = (1 << world.patches + world.flags) - 1
    if mask != full and draw(seed, "build", mask) < world.unbuildable:
        return Outcome("unbuildable", "does not apply")
    rate = world.p if truth is not None and mask & truth == truth else world.q
    bad = draw(seed, "run", number) < rate
    return Outcome("bad" if bad else "clean", signature="leak" if bad else None)


def trial(world: World, seed: str, *, confirm: bool = True, model: Model | None = None, **plan: float) -> Told:
    """One bisect to its end; without `confirm` to the end of the search. `plan`: `stop`, `base_mass`, `min_rate`."""
    space = space_of(world, seed)
    truth = truth_of(world, space, seed)
    search = Search(Plan(space, seed=seed, **plan), model)
    counts: dict[Phase, int] = {}
    number, step = 0, search.next()
    while isinstance(step, Try) and number < MOST_RUNS and (confirm or step.phase in ("full", "search")):
        number += 1
        counts[step.phase] = counts.get(step.phase, 0) + 1
        search.feed(Run(number, step.phase, step.mask, outcome_of(world, seed, number, step.mask, truth)))
        step = search.next()
    kind = step.kind if isinstance(step, Done) else "FOUND" if number < MOST_RUNS else "BUDGET"
    named = None if kind == "NEVER FAILS" else search.top.mask
    return Told(kind, named == truth, number, counts.get("search", 0))


def known(rate: float) -> Rate:
    """A rate that is given."""
    return Rate((rate,))
