"""Goes through a series patch by patch on the contents of the base: what applies where, what does not and why.

It is the reason why a refused queue can be explained, and why a subset of a queue is known to land where the whole
queue does: in a subset, the place of a hunk is where the lines that it reads are, not where a search finds a
likeness. A patch applies whole or leaves no trace. The tree itself is git's work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from stackctl.core.names import PatchName
from stackctl.core.patches.apply import Origin
from stackctl.core.patches.coherent import settled_fault
from stackctl.core.patches.depend import declared_needs, excluded, strongest
from stackctl.core.patches.explain import already, lacks
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.parse import ParsedPatch
from stackctl.core.patches.series import settle, strip_level
from stackctl.core.patches.state import Base, Landing, State, Step, Windows, reverses, take
from stackctl.core.patches.values import Need, Patch

EXPLAINED_BY_NEEDS = ("context-mismatch", "ambiguous-context", "missing-file", "exists-already")


@dataclass
class Walk:
    """A series seen through. `faults` by patch; a patch with a fault changed nothing for those after it."""

    state: State
    patches: list[Patch] = field(default_factory=list)
    needs: tuple[Need, ...] = ()
    landings: list[Landing] = field(default_factory=list)
    windows: dict[tuple[PatchName, int], tuple[Origin, ...]] = field(default_factory=dict)
    faults: dict[PatchName, Fault] = field(default_factory=dict)

    def add(self, patch: Patch, step: Step) -> None:
        self.patches.append(patch)
        self.landings += step.landings
        self.windows |= step.windows
        if step.fault:
            self.faults[patch.name] = step.fault

    def blame(self, faults: Iterable[Fault]) -> None:
        """Faults of headers of these patches; one of the diff itself, if there is one, is told instead."""
        names = {patch.file: patch.name for patch in self.patches}
        for fault in faults:
            if fault.patch in names:
                self.faults.setdefault(names[fault.patch], fault)


def walk_series(base: Base, entries: Iterable[tuple[PatchName, ParsedPatch]]) -> Walk:
    """The whole series, in order: finds the strip level of each, and who needs whom."""
    walk = walk_diffs(base, entries)
    hear(walk.patches, [walk])
    return walk


def hear(patches: Sequence[Patch], walks: Sequence[Walk]) -> None:
    """What the headers of a queue say, each told to the walk of its patch: a need may be of another source's patch."""
    declared, faults = declared_needs(patches)
    for walk in walks:
        walk.blame(faults)
        walk.blame(excluded(patches))
        names = {patch.name for patch in walk.patches}
        walk.needs = strongest([*walk.needs, *(need for need in declared if need.patch in names)])


def joined(patches: Sequence[Patch], walks: Sequence[Walk]) -> Walk:
    """Walks of several sources as one; its state is the first one's."""
    whole = Walk(walks[0].state, list(patches))
    for walk in walks:
        whole.needs += walk.needs
        whole.landings += walk.landings
        whole.windows |= walk.windows
    # in the order of the queue
    faults = {name: fault for walk in walks for name, fault in walk.faults.items()}
    whole.faults = {patch.name: faults[patch.name] for patch in patches if patch.name in faults}
    return whole


def walk_diffs(base: Base, entries: Iterable[tuple[PatchName, ParsedPatch]]) -> Walk:
    """The series by its diffs alone, without what the headers say of each other."""
    state = State(base)
    walk = Walk(state)
    found: list[Need] = []
    for name, parsed in entries:
        level = strip_level(parsed, state.exists)
        if isinstance(level, Fault):
            walk.add(settle(name, parsed, 1), Step(fault=level))
            continue
        patch = settle(name, parsed, level)
        if fault := settled_fault(patch):
            walk.add(patch, Step(fault=fault))
            continue
        before, (state, step) = state, take(state, patch)
        if step.fault and reverses(before, patch):
            step.fault = already(step.fault)
        found += step.needs
        walk.add(patch, step)
    walk.needs = strongest(found)
    walk.state = state
    return walk


def walk_subset(base: Base, patches: Sequence[Patch], windows: Windows, needs: Collection[Need]) -> Walk:
    """Some patches of a series that was walked: each hunk must land on the very lines that it had there."""
    state = State(base)
    walk = Walk(state)
    chosen = {patch.name for patch in patches}
    for patch in patches:
        before, (state, step) = state, take(state, patch, windows)
        if step.fault and step.fault.kind in EXPLAINED_BY_NEEDS:
            missing = [need.needs for need in needs if need.patch == patch.name and need.needs not in chosen]
            if missing:
                step.fault = lacks(step.fault, missing)
            elif reverses(before, patch):
                step.fault = already(step.fault)
        walk.add(patch, step)
    walk.blame(excluded(walk.patches))
    walk.needs = tuple(need for need in needs if need.patch in chosen)
    walk.state = state
    return walk
