"""Which elements a bisect may leave out, and which subsets of them can be built at all.

A subset is an int with one bit for each member, in the order of the stack. It is *closed* when everything that a
member needs is in it too; only closed subsets are ever tried. This module refuses to guess: an element that the
stack does not have is an error, and what is not an element is named with the reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Member:
    """An element of the bisect. `weight`: its risk against the others; `file`: the patch file, for the report.

    `carries`: patches that are no members but need this one, so that they leave with it. `reasons`: why the weight.
    """

    element: str
    weight: float = 1.0
    file: str | None = None
    carries: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def is_patch(self) -> bool:
        return self.element.startswith("patch:")


@dataclass(frozen=True)
class Clause:
    """Learned: no subset that holds all of `on` and nothing of `off` can be built."""

    on: tuple[str, ...]
    off: tuple[str, ...]


def bits(mask: int) -> Iterator[int]:
    """Positions of the set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@dataclass(frozen=True)
class Space:
    """All members with their closures. `closure[i]`: i and all it needs; `dependents[i]`: i and all that need it."""

    members: tuple[Member, ...]
    closure: tuple[int, ...]
    dependents: tuple[int, ...]
    forbidden: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> int:
        return len(self.members)

    @property
    def full(self) -> int:
        return (1 << self.size) - 1

    def close(self, mask: int) -> int:
        """The smallest closed set that holds `mask`."""
        closed = mask
        for i in bits(mask):
            closed |= self.closure[i]
        return closed

    def drop(self, mask: int, gone: int) -> int:
        """`mask` without `gone` and without all that need it."""
        for i in bits(gone):
            mask &= ~self.dependents[i]
        return mask

    def is_closed(self, mask: int) -> bool:
        return self.close(mask) == mask

    def allows(self, mask: int) -> bool:
        """Not known to be unbuildable."""
        return not any(mask & on == on and not mask & off for on, off in self.forbidden)

    def names(self, mask: int) -> tuple[str, ...]:
        return tuple(self.members[i].element for i in bits(mask))

    def left_out(self, mask: int) -> tuple[str, ...]:
        return self.names(self.full & ~mask)

    def mask(self, names: Iterable[str]) -> int:
        wanted = set(names)
        return sum(1 << i for i, member in enumerate(self.members) if member.element in wanted)

    def without(self, names: Iterable[str]) -> int:
        return self.full & ~self.mask(names)


def make_space(
    members: tuple[Member, ...], needs: Mapping[str, Iterable[str]], clauses: Iterable[Clause] = ()
) -> Space:
    """Closures of `needs` (element -> elements). A clause of one against one is a need like any other."""
    index = {member.element: i for i, member in enumerate(members)}
    direct = [0] * len(members)
    for element, wanted in needs.items():
        for other in wanted:
            if element in index and other in index:
                direct[index[element]] |= 1 << index[other]
    forbidden = []
    for clause in clauses:
        on = sum(1 << index[name] for name in clause.on)
        off = sum(1 << index[name] for name in clause.off)
        if len(clause.on) == 1 and len(clause.off) == 1:
            direct[index[clause.on[0]]] |= off
        else:
            forbidden.append((on, off))
    closure = tuple(_reach(i, direct) for i in range(len(members)))
    dependents = tuple(sum(1 << j for j in range(len(members)) if closure[j] >> i & 1) for i in range(len(members)))
    return Space(members, closure, dependents, tuple(forbidden))


def _reach(start: int, direct: list[int]) -> int:
    seen, todo = 1 << start, direct[start]
    while todo & ~seen:
        fresh = todo & ~seen
        seen |= fresh
        for i in bits(fresh):
            todo |= direct[i]
    return seen


def draw(seed: str, *parts: object) -> float:
    """A pseudo-random number in [0, 1) that depends on nothing but its arguments."""
    text = "\x1f".join([seed, *map(str, parts)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big") / float(1 << 56)
