"""Engine A: what tree a subset of a walked series would be, in memory and by its id alone.

What becomes of a file depends only on which of the chosen patches touch it, so that is what is remembered: hundreds
of subsets of one queue meet the same few states of each file. Each hunk goes where the lines are that it read in the
whole series; where they no longer stand together the subset is a conflict, whatever else looks like them. What is
not foreseen for sure is left to engine B, which is git and makes every tree that is deployed: renames with edits,
changes of mode, a patch that does not apply in the whole series.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.state import Landing, State, take
from stackctl.core.patches.trees import Changes, Listing, Trees, blob_id
from stackctl.core.patches.values import Offset, Patch
from stackctl.core.patches.walk import Walk

OF_HEADERS = ("excluded", "bad-needs")  # the diff itself was taken
MOST_STATES = 512  # contents that are kept to go on from; ids are all kept


@dataclass(frozen=True)
class Planned:
    """The tree, and where every hunk lands, in the order of the patches and their files."""

    tree: TreeId
    landings: tuple[Landing, ...]

    @property
    def offsets(self) -> tuple[Offset, ...]:
        return tuple(
            Offset(each.patch, each.file, each.hunk, each.at, each.offset) for each in self.landings if each.offset
        )


@dataclass(frozen=True)
class Conflicting:
    """The patches do not go together; `fault` is the first reason found."""

    patch: PatchName
    fault: Fault


@dataclass(frozen=True)
class ForGit:
    """Not foreseen, so git must be asked."""

    patch: PatchName | None
    reason: str


@dataclass(frozen=True)
class _Seen:
    """A family of files after some patches."""

    changes: Changes
    landings: tuple[Landing, ...]


class Memo:
    """Plans subsets of the patches of `walk`, which went over the base that `listing` shows."""

    def __init__(self, tree: TreeId, listing: Listing, walk: Walk, most_states: int = MOST_STATES) -> None:
        self._tree = tree
        self._listing = listing
        self._walk = walk
        self._most_states = most_states
        self._seen: dict[tuple[int, tuple[PatchName, ...]], _Seen | Conflicting] = {}
        self._states: dict[tuple[int, tuple[PatchName, ...]], tuple[State, tuple[Landing, ...]]] = {}

    def plan(self, patches: Sequence[Patch]) -> Planned | Conflicting | ForGit:
        """The tree of these patches in this order. Headers have no say here: needs and conflicts are the caller's."""
        if self._trees.root != self._tree:
            return ForGit(None, "the base is not all files")
        for patch in patches:
            if patch.name in self._for_git:
                return ForGit(patch.name, self._for_git[patch.name])
        if [patch.name for patch in patches] == [patch.name for patch in self._walk.patches]:
            return Planned(self._trees.tree_id(_changes(self._walk.state)), tuple(self._walk.landings))
        return self._planned(patches)

    def _planned(self, patches: Sequence[Patch]) -> Planned | Conflicting:
        touching: dict[int, list[PatchName]] = {}
        for patch in patches:
            for family in self._parts[patch.name]:
                touching.setdefault(family, []).append(patch.name)
        changes: dict[str, tuple[str, str] | None] = {}
        landings: list[Landing] = []
        for family, names in touching.items():
            seen = self._after(family, tuple(names))
            if isinstance(seen, Conflicting):
                return seen
            changes.update(seen.changes)
            landings += seen.landings
        order = {patch.name: place for place, patch in enumerate(patches)}
        landings.sort(key=lambda each: (order[each.patch], each.line))
        return Planned(self._trees.tree_id(changes), tuple(landings))

    def _after(self, family: int, names: tuple[PatchName, ...]) -> _Seen | Conflicting:
        key = (family, names)
        if key not in self._seen:
            found = self._go_on(family, names)
            self._seen[key] = found if isinstance(found, Conflicting) else _Seen(_changes(found[0]), found[1])
        return self._seen[key]

    def _go_on(self, family: int, names: tuple[PatchName, ...]) -> tuple[State, tuple[Landing, ...]] | Conflicting:
        """From the longest beginning of `names` whose contents are kept."""
        done = next((n for n in range(len(names), 0, -1) if (family, names[:n]) in self._states), 0)
        state, landings = self._states[family, names[:done]] if done else (State(self._walk.state.base), ())
        for n in range(done, len(names)):
            state, step = take(state, self._parts[names[n]][family], self._walk.windows)
            if step.fault:
                return Conflicting(names[n], step.fault)
            landings += tuple(step.landings)
            self._keep((family, names[: n + 1]), (state, landings))
        return state, landings

    def _keep(self, key: tuple[int, tuple[PatchName, ...]], found: tuple[State, tuple[Landing, ...]]) -> None:
        if len(self._states) >= self._most_states:
            del self._states[next(iter(self._states))]
        self._states[key] = found

    @cached_property
    def _trees(self) -> Trees:
        return Trees(self._listing)

    @cached_property
    def _parts(self) -> Mapping[PatchName, Mapping[int, Patch]]:
        """What each patch does to each family of files."""
        families = _families(self._walk.patches)
        parts: dict[PatchName, dict[int, Patch]] = {}
        for patch in self._walk.patches:
            sections: dict[int, list[int]] = {}
            for place, section in enumerate(patch.files):
                sections.setdefault(families[section.path], []).append(place)
            parts[patch.name] = {
                family: replace(patch, files=tuple(patch.files[place] for place in places))
                for family, places in sections.items()
            }
        return parts

    @cached_property
    def _for_git(self) -> Mapping[PatchName, str]:
        reasons = {patch.name: _why_for_git(patch) for patch in self._walk.patches}
        found = {name: reason for name, reason in reasons.items() if reason}
        unfit = (name for name, fault in self._walk.faults.items() if fault.kind not in OF_HEADERS)
        return found | dict.fromkeys(unfit, "it does not apply in the whole series, so nothing tells where it goes")


def _why_for_git(patch: Patch) -> str | None:
    for section in patch.files:
        if (section.rename or section.copy) and section.hunks:
            return f"{section.path}: it is renamed or copied, and edited too"
        if section.old is not None and section.new is not None and section.new_mode:
            return f"{section.path}: its mode changes"
    return None


def _changes(state: State) -> dict[str, tuple[str, str] | None]:
    return {path: (text.mode, blob_id(text.data())) if text else None for path, text in state.texts.items()}


def _families(patches: Iterable[Patch]) -> Mapping[str, int]:
    """Numbers of paths that have a say in each other: by a rename or copy, or where one is a folder of the other."""
    leader: dict[str, str] = {}

    def find(path: str) -> str:
        while leader.setdefault(path, path) != path:
            path = leader[path]
        return path

    for patch in patches:
        for section in patch.files:
            leader[find(section.old or section.path)] = find(section.new or section.path)
    for path in list(leader):
        parts = path.split("/")
        for folder in ("/".join(parts[:depth]) for depth in range(1, len(parts))):
            if folder in leader:
                leader[find(path)] = find(folder)
    numbers = {path: number for number, path in enumerate(leader)}
    return {path: numbers[find(path)] for path in leader}
