"""Takes a queue onto a new base, patch by patch: tries, decides, and goes on whatever one patch says.

Where a three-way merge and the context of a patch disagree, the merge is believed and shown. What was answered before,
by hand or by git's memory, is used where the very same question comes up. No file of the workspace is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from stackctl.commands.rebase.onto import Pinned
from stackctl.commands.rebase.trial import Trial, Trials, findings
from stackctl.commands.tree import Read
from stackctl.core.names import SGLANG, Commit, PatchName, TreeId
from stackctl.core.patches.canonical import with_diff
from stackctl.core.patches.depend import dependents
from stackctl.core.patches.faults import Fault, error_of
from stackctl.core.patches.parse import parse
from stackctl.core.patches.series import settle, strip_level
from stackctl.core.patches.state import take
from stackctl.core.patches.values import Offset, Patch
from stackctl.core.rebase.merge import Labels, clashes
from stackctl.core.rebase.needing import needless
from stackctl.core.rebase.notes import notes_of
from stackctl.core.rebase.retire import conditions
from stackctl.core.rebase.verdict import EYES, HANDS, LEAVES, Findings, Rebased, Verdict, decide
from stackctl.core.review.rangediff import range_diff
from stackctl.core.review.rows import needs_of
from stackctl.errors import StackctlError
from stackctl.ports import Ports


class Resolution(NamedTuple):
    """What a person made of a conflict: a diff against the tree that the patch was to go onto."""

    onto: TreeId
    diff: bytes


@dataclass(frozen=True)
class Answers:
    """What is known beside the queue. `versions`: files for the new base that are there already, as shown and read."""

    resolved: Mapping[PatchName, Resolution] = field(default_factory=dict)
    left_out: frozenset[PatchName] = frozenset()
    keep: frozenset[PatchName] = frozenset()
    versions: Mapping[PatchName, tuple[str, bytes]] = field(default_factory=dict)
    commits: Mapping[PatchName, Commit] = field(default_factory=dict)
    memory: Mapping[str, bytes] = field(default_factory=dict)


class Rebasing:
    """`run` gives a verdict for every patch; `tree` is then that of all which stay. `trials`: by patch."""

    def __init__(
        self, ports: Ports, read: Read, new: Pinned, labels: Callable[[PatchName], Labels], answers: Answers
    ) -> None:
        self._ports, self._read, self._answers = ports, read, answers
        self._new, self._labels = new, labels
        self._old = read.queue.base
        self._trials = Trials(ports, read, new.tree)
        self._done: dict[PatchName, Rebased] = {}
        self.tree = new.tree
        self.trials: dict[PatchName, Trial] = {}

    def run(self) -> tuple[Rebased, ...]:
        patches = self._read.queue.patches
        for number, patch in enumerate(patches, 1):
            self._ports.progress.live(f"rebasing {number} of {len(patches)}: {patch.name}")
            done = self._one(patch) if patch.source == SGLANG else _of_other_source(patch)
            self._done[patch.name] = done
            if done.trees:
                self._trials.listing(done.trees[1], self.tree)
                self.tree = done.trees[1]
        return tuple(self._done.values())

    def _one(self, patch: Patch) -> Rebased:
        trial = self._trials.attempt(patch, self._old, self.tree, self._labels(patch.name))
        self.trials[patch.name] = trial
        self._old = trial.after or self._old
        version, note = self._version(patch)
        if version:
            return version
        result = self._decided(trial)
        if note:
            result = replace(result, notes=(*result.notes, note))
        if patch.name in self._answers.left_out or self._falls(result):
            return replace(result, settled="left out")
        if result.verdict in LEAVES or result.verdict == "blocked":
            return result
        if result.verdict in HANDS:
            return self._answered(trial, result)
        made = trial.by_context if result.verdict in ("clean", "offset") else trial.rehomed or _tree_of(trial)
        return self._carried(trial, result, made or trial.onto)

    def _decided(self, trial: Trial) -> Rebased:
        patch = trial.patch
        asked = conditions(patch.header.trailer("Remove-when"), SGLANG, self._new.release)
        holds = any(answer for _, answer in asked) and patch.name not in self._answers.keep
        found = findings(
            trial, retires=holds, commit=self._answers.commits.get(patch.name), lacking=self._lacking(patch.name)
        )
        verdict = decide(found)
        alone = decide(replace(found, retires=False, lacking=())) if verdict in ("blocked", "retire") else None
        told = alone or verdict
        labels = self._labels(patch.name)
        clashing = clashes(trial.merged, labels) if trial.merged and told in ("conflict", "gone", "moved") else ()
        return Rebased(
            patch.name,
            verdict,
            notes=tuple(self._notes(trial, found)),
            offsets=_offsets(trial) if told == "offset" else (),
            clashes=clashing,
            needed_by=self._needed_by(patch.name) if verdict in HANDS else (),
            lacking=found.lacking,
            moved=trial.moved,
            commit=found.commit,
            conditions=asked,
            alone=alone,
        )

    def _notes(self, trial: Trial, found: Findings) -> Iterator[str]:
        yield from notes_of(trial.probe, found, trial.refused, trial.homes, self._labels(trial.patch.name).base)
        for name in (
            name for name in self._needs(trial.patch.name) if name in self._done and self._done[name].verdict in LEAVES
        ):
            if not self._done[name].trees:
                yield f"it needs {name}, which leaves the queue ({self._done[name].verdict})"
        if trial.patch.name in self._answers.keep:
            yield "kept as asked, though its Remove-when may hold"

    def _lacking(self, name: PatchName) -> tuple[PatchName, ...]:
        return tuple(
            each
            for each in self._needs(name)
            if each in self._done and not self._done[each].stays and self._fails(each)
        )

    def _needs(self, name: PatchName) -> tuple[PatchName, ...]:
        return tuple(dict.fromkeys(need.needs for need in needs_of(self._read.queue.needs, name)))

    def _fails(self, name: PatchName) -> bool:
        done = self._done[name]
        return done.wants_hands or done.settled == "left out"

    def _falls(self, result: Rebased) -> bool:
        """Whether it is blocked only by patches that were left out for good: then it goes with them."""
        blocked = result.verdict == "blocked"
        return blocked and all(self._done[name].settled == "left out" for name in result.lacking)

    def _needed_by(self, name: PatchName) -> tuple[PatchName, ...]:
        found = dependents(self._read.queue.needs, [name])
        return tuple(patch.name for patch in self._read.queue.patches if patch.name in found)

    def _version(self, patch: Patch) -> tuple[Rebased | None, str]:
        """The patch by the file that it has for the new base, or why that file does not serve."""
        if patch.name not in self._answers.versions:
            return None, ""
        file, data = self._answers.versions[patch.name]
        parsed = parse(data, file)
        if isinstance(parsed, Fault):
            return None, f"{file} is there, but {parsed.message}"
        exists = self._trials.listing(self.tree).__contains__
        level = strip_level(parsed, exists)
        if isinstance(level, Fault):
            return None, f"{file} is there, but {level.message}"
        made = settle(patch.name, parsed, level)
        step = take(self._trials.state(self.tree, made), made)[1]
        tree = None if step.fault else self._trials.applied(self.tree, made, step.landings)
        if tree is None:
            return (
                None,
                f"{file} is there, but does not fit here: {step.fault.message if step.fault else 'git refuses'}",
            )
        offsets = tuple(Offset(patch.name, at.file, at.hunk, at.at, at.offset) for at in step.landings if at.offset)
        verdict: Verdict = "offset" if offsets else "clean"
        notes = (f"{file} is there already",)
        return Rebased(patch.name, verdict, (self.tree, tree), notes, offsets), ""

    def _answered(self, trial: Trial, result: Rebased) -> Rebased:
        """By hand, or as git remembers it; else as it is."""
        resolution = self._answers.resolved.get(result.name)
        if resolution and resolution.onto == trial.onto:
            tree = self._ports.git.apply(trial.onto, [(resolution.diff, 1)]).tree if resolution.diff else trial.onto
            if tree:
                settled = replace(result, settled="emptied" if tree == trial.onto else "by hand")
                return settled if tree == trial.onto else self._carried(trial, settled, tree)
        if trial.merged and self._answers.memory and result.verdict == "conflict":
            known = self._ports.merges.recall(trial.merged, self._answers.memory)
            if set(trial.merged.conflicted) <= set(known):
                contents: dict[str, bytes | None] = {**known}
                tree = self._ports.merges.replace(trial.merged.tree, contents)
                return self._carried(trial, replace(result, settled="remembered"), tree)
        return result

    def _carried(self, trial: Trial, result: Rebased, tree: TreeId) -> Rebased:
        """With its tree; and with a file of its own where the old one does not serve."""
        patch = trial.patch
        data = patch.data
        if result.verdict in EYES or result.settled:
            data = _with_diff(patch, self._ports.git.diff(trial.onto, tree))
        left = {name for name, done in self._done.items() if not done.stays}
        data = needless(data, patch.header, left)
        if data == patch.data:
            return replace(result, trees=(trial.onto, tree))
        before = _with_diff(patch, self._ports.git.diff(trial.before, trial.after)) if trial.after else patch.data
        text = range_diff(_read(patch, before), _read(patch, data))
        return replace(result, trees=(trial.onto, tree), data=data, range_diff=text)


def _of_other_source(patch: Patch) -> Rebased:
    return Rebased(patch.name, "clean", notes=(f"it is for {patch.source}, whose pin stays",))


def _tree_of(trial: Trial) -> TreeId | None:
    return trial.merged.tree if trial.merged and trial.merged.clean else None


def _offsets(trial: Trial) -> tuple[Offset, ...]:
    name, landings = trial.patch.name, trial.probe.step.landings
    return tuple(Offset(name, each.file, each.hunk, each.at, each.offset) for each in landings if each.offset)


def _with_diff(patch: Patch, diff: str) -> bytes:
    parsed = parse(patch.data, patch.file)
    if isinstance(parsed, Fault):
        raise error_of([parsed])
    return with_diff(parsed, diff.encode("utf-8", "surrogateescape"))


def _read(patch: Patch, data: bytes) -> Patch:
    """The patch of other bytes; what a person wrote may break the rules of every patch."""
    parsed = parse(data, patch.file)
    if isinstance(parsed, Fault):
        raise StackctlError(f"{patch.name}, rebased: {parsed.message}", parsed.hint)
    return settle(patch.name, parsed, 1)
