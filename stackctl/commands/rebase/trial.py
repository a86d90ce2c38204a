"""Tries one patch of an old queue on a new base: by a three-way merge, and by its context alone. It decides nothing."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from stackctl.commands.tree import Read, data_for_git, listing_of
from stackctl.core.names import Commit, PatchName, TreeId
from stackctl.core.patches.agree import Listing
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.probe import Probe, probe
from stackctl.core.patches.state import Base, Landing, State
from stackctl.core.patches.values import Patch
from stackctl.core.rebase.merge import Labels, TreeMerge
from stackctl.core.rebase.moved import Home, homes, rehomed
from stackctl.core.rebase.verdict import Findings
from stackctl.ports import Ports

KNOWN = 4  # trees of which every path is kept in memory, beside the two bases
OF_HEADERS = ("bad-needs", "excluded")  # faults that do not keep a diff from applying


@dataclass(frozen=True)
class Trial:
    """`before`, `after`: the old queue's trees around the patch. `onto`: the new queue's tree so far.

    `by_context`: the tree where each hunk goes to the one place that it fits. `merged` and `after` are None where its
    own base refuses it (`refused`). `moved`: old path -> new path; `homes`: where its lines may be now; `rehomed`: the
    tree when they are taken there.
    """

    patch: Patch
    before: TreeId
    onto: TreeId
    probe: Probe
    merged: TreeMerge | None = None
    after: TreeId | None = None
    refused: Fault | None = None
    by_context: TreeId | None = None
    identical: bool = False
    moved: Mapping[str, str] = field(default_factory=dict)
    homes: tuple[Home, ...] = ()
    rehomed: TreeId | None = None


def findings(trial: Trial, *, retires: bool, commit: Commit | None, lacking: tuple[PatchName, ...]) -> Findings:
    merged = trial.merged
    if merged is None:
        return Findings("impossible", trial.by_context is not None, trial.probe.offset, reverses=trial.probe.reverses,
                        retires=retires, lacking=lacking)  # fmt: skip
    same = merged.clean and merged.tree == trial.onto
    return Findings(
        "same" if same else "changed" if merged.clean else "conflict",
        trial.by_context is not None,
        trial.probe.offset,
        trial.by_context == merged.tree,
        trial.probe.reverses,
        trial.identical,
        len(trial.probe.inside),
        trial.probe.hunks,
        bool(trial.moved) and (merged.clean or trial.rehomed is not None),
        bool(merged.deleted),
        retires,
        commit,
        lacking,
    )


class Trials:
    """Trials of one queue, which share what is known of trees."""

    def __init__(self, ports: Ports, read: Read, new: TreeId) -> None:
        self._ports, self._read, self._new = ports, read, new
        self._listings: dict[TreeId, Listing] = {}
        self._contents: dict[str, bytes] | None = None
        self._renames: Mapping[str, tuple[str, int]] | None = None

    def attempt(self, patch: Patch, before: TreeId, onto: TreeId, labels: Labels) -> Trial:
        refused = self._read.walk.faults.get(patch.name)
        refused = None if refused and refused.kind in OF_HEADERS else refused
        seen = probe(self.state(onto, patch), patch)
        by_context = self.applied(onto, patch, seen.step.landings) if seen.fits else None
        trial = Trial(patch, before, onto, seen, refused=refused, by_context=by_context)
        after = None if refused else self.applied(before, patch, self._read.walk.landings)
        if after is None:
            return trial
        merged = self._ports.merges.merge(before, onto, after, labels)
        identical = self._identical(patch, self.listing(after, before), self.listing(onto))
        trial = replace(trial, merged=merged, after=after, identical=identical)
        trial = replace(trial, moved=self._moved(trial))
        return trial if merged.clean else self._searched(trial, merged)

    def applied(self, tree: TreeId, patch: Patch, landings: Iterable[Landing]) -> TreeId | None:
        return self._ports.git.apply(tree, [(data_for_git(patch, tuple(landings)), patch.strip)]).tree

    def state(self, tree: TreeId, patch: Patch) -> State:
        """The tree as the walk sees it, with the files that the patch names."""
        listing = self.listing(tree)
        names = {name for section in patch.files for name in (section.old, section.new) if name and name in listing}
        modes = {path: mode for path, (mode, _) in listing.items()}
        return State(Base(modes, self._ports.git.read(tree, sorted(names))))

    def listing(self, tree: TreeId, near: TreeId | None = None) -> Listing:
        """Every path of a tree: read whole, or by what it differs in from one `near` it that is known."""
        if tree not in self._listings:
            bases = (self._read.queue.base, self._new)
            for old in [each for each in self._listings if each not in (*bases, near)][:-KNOWN]:
                del self._listings[old]
            self._listings[tree] = self._beside(tree, near) if near in self._listings else listing_of(self._ports, tree)
        return self._listings[tree]

    def _beside(self, tree: TreeId, near: TreeId | None) -> Listing:
        found = dict(self._listings[near]) if near else {}
        for path, facts in self._ports.merges.changes(near or tree, tree).items():
            if facts:
                found[path] = facts
            else:
                found.pop(path, None)
        return found

    @staticmethod
    def _identical(patch: Patch, theirs: Listing, ours: Listing) -> bool:
        paths = {path for section in patch.files for path in (section.old, section.new) if path}
        return all(ours.get(path) == theirs.get(path) for path in paths)

    def _moved(self, trial: Trial) -> Mapping[str, str]:
        """Files that the merge has changed under other names than the patch has for them."""
        if trial.merged is None:
            return {}
        ours, made = self.listing(trial.onto), self.listing(trial.merged.tree, trial.onto)
        named = {path for section in trial.patch.files for path in (section.old, section.new) if path}
        strange = [path for path in made if made[path] != ours.get(path) and path not in named]
        lost = [path for path in sorted(named) if path not in ours and path not in made]
        found = {path: self._renamed(path) for path in lost}
        left = [path for path in strange if path not in found.values()]
        for path in lost:
            if found[path] not in strange:
                alike = [new for new in left if posixpath.basename(new) == posixpath.basename(path)]
                found[path] = next(iter(alike or left), "")
        return {path: new for path, new in found.items() if new in strange}

    def _renamed(self, path: str) -> str:
        if self._renames is None:
            self._renames = self._ports.merges.moves(self._read.queue.base, self._new)
        return self._renames.get(path, ("", 0))[0]

    def _searched(self, trial: Trial, merged: TreeMerge) -> Trial:
        """Where the lines of a conflict may be now; taken there, if they fit there and nowhere else."""
        clashing = set(merged.conflicted)
        sections = [section for section in trial.patch.files if section.old in clashing and section.hunks]
        found = {section.old: homes(section, self._newer(section.old or "", trial.onto)) for section in sections}
        likely = tuple(home for each in found.values() for home in each)
        lost = [section for section in sections if section.old not in self.listing(trial.onto)]
        if not lost or any(not found[section.old] for section in lost) or clashing - {each.old for each in lost}:
            return replace(trial, homes=likely)
        moved = trial.patch
        for section in lost:
            moved = rehomed(moved, found[section.old][0])
        seen = probe(self.state(trial.onto, moved), moved)
        if not seen.fits:
            return replace(trial, homes=likely)
        files = {path: text.data() if text else None for path, text in seen.after.texts.items()}
        tree = self._ports.merges.replace(trial.onto, files)
        where = {section.old or "": found[section.old][0].new for section in lost}
        return replace(trial, homes=likely, moved=where, rehomed=tree)

    def _newer(self, path: str, onto: TreeId) -> Mapping[str, bytes]:
        """Files of the new base, of the path's kind, that the old base has not with these contents; and its own."""
        if self._contents is None:
            known = {blob for _, blob in self.listing(self._read.queue.base).values()}
            kinds = {posixpath.splitext(each)[1] for each in (path, *self._read.base.contents)}
            names = [
                name
                for name, (_, blob) in self.listing(self._new).items()
                if blob not in known and posixpath.splitext(name)[1] in kinds
            ]
            self._contents = dict(self._ports.git.read(self._new, names))
        kind = posixpath.splitext(path)[1]
        newer = {name: data for name, data in self._contents.items() if posixpath.splitext(name)[1] == kind}
        return newer | dict(self._ports.git.read(onto, [path]))
