"""What may be true: nothing fails, the base fails, one element is to blame, or two together.

Hypotheses that no closed subset can tell apart (a needs b: then {a, b} and {a}) are one, with their mass added;
without the merge the posterior would never reach its threshold. Three together become hypotheses only around a pair
that the confirmation found necessary and not sufficient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from stackctl.core.bisect.space import Space
from stackctl.errors import StackctlError

Prior = Literal["weighted", "uniform"]
Kind = Literal["none", "base", "single", "pair", "triple"]

MOST = 200_000  # hypotheses; beyond it one choice takes minutes
NONE_MASS = 0.02
BASE_MASS = 0.15
# of the rest; flag here stands for flags and variables. Two flags together are rare, but not impossible.
SHARES = {"patch": 0.45, "flag": 0.05, "patch+flag": 0.30, "patch+patch": 0.15, "flag+flag": 0.02}


@dataclass(frozen=True)
class Hypothesis:
    """`mask`: holds in every subset that contains it. `members`: positions; `alike`: others merged into this one."""

    kind: Kind
    members: tuple[int, ...]
    mask: int
    log_prior: float
    alike: tuple[tuple[int, ...], ...] = ()


def hypotheses(space: Space, prior: Prior = "weighted", base_mass: float = BASE_MASS) -> tuple[Hypothesis, ...]:
    """NONE first, BASE second, then singles and pairs. Masses: section 2 of the model, uniform inside a class."""
    count = space.size * (space.size + 1) // 2
    if count > MOST:
        raise StackctlError(
            f"{space.size} elements make {count} hypotheses, more than {MOST}",
            hint="name fewer under `bisect.elements` in the stack file",
        )
    never = 1 << space.size  # a bit that no subset has
    found = [
        Hypothesis("none", (), never, math.log(NONE_MASS)),
        Hypothesis("base", (), 0, math.log(base_mass)),
    ]
    rest = 1.0 - NONE_MASS - base_mass
    merged: dict[int, list[tuple[tuple[int, ...], float]]] = {}
    for members, mass in _masses(space, prior).items():
        mask = space.close(sum(1 << i for i in members))
        merged.setdefault(mask, []).append((members, mass))
    for mask, same in merged.items():
        first, *others = (members for members, _ in same)
        mass = sum(mass for _, mass in same)
        kind: Kind = "single" if len(first) == 1 else "pair"
        found.append(Hypothesis(kind, first, mask, math.log(mass * rest), tuple(others)))
    return tuple(found)


def triples(space: Space, pair: Hypothesis) -> tuple[Hypothesis, ...]:
    """The pair with each third member that is not in it anyway; together as likely beforehand as the pair was."""
    thirds = [i for i in range(space.size) if not pair.mask >> i & 1 and space.members[i].weight > 0]
    total = sum(space.members[i].weight for i in thirds)
    found: dict[int, Hypothesis] = {}
    for i in thirds:
        mask = pair.mask | space.closure[i]
        share = math.log(space.members[i].weight / total)
        found.setdefault(mask, Hypothesis("triple", (*pair.members, i), mask, pair.log_prior + share))
    return tuple(found.values())


def _masses(space: Space, prior: Prior) -> dict[tuple[int, ...], float]:
    """Singles, then pairs, each with its share; together 1. What has no weight is left out."""
    weight = [member.weight for member in space.members]
    raw: dict[tuple[int, ...], float] = {(i,): w for i, w in enumerate(weight)}
    raw |= {(i, j): weight[i] * weight[j] for i in range(space.size) for j in range(i + 1, space.size)}
    raw = {members: w for members, w in raw.items() if w > 0}
    if prior == "uniform":
        return {members: 1.0 / len(raw) for members in raw}
    sums: dict[str, float] = {}
    for members, w in raw.items():
        sums[_class(space, members)] = sums.get(_class(space, members), 0.0) + w
    shares = sum(SHARES[name] for name in sums)
    return {
        members: SHARES[_class(space, members)] / shares * w / sums[_class(space, members)]
        for members, w in raw.items()
    }


def _class(space: Space, members: tuple[int, ...]) -> str:
    return "+".join(sorted(("patch" if space.members[i].is_patch else "flag" for i in members), reverse=True))
