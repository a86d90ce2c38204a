"""`stackctl patches diff`: a queue against its base, or against another queue, another time, a lock.

Nothing is changed, and the workspace's repository is only read. Where bases differ, the difference of the trees is
told for the files that patches touch; the rest is upstream's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from stackctl.commands.queue.look import diff_queue, taken_patches
from stackctl.commands.review.revision import told_at
from stackctl.commands.review.sides import Side, ports_of, read_side
from stackctl.commands.selection import Selection
from stackctl.core.names import SGLANG, TreeId
from stackctl.core.patches.difftext import FileCount, FileDiff, by_file
from stackctl.core.patches.values import Patch
from stackctl.core.review.areas import area_of, areas_of, wanted_area
from stackctl.core.review.compare import Change, Entry, compare
from stackctl.core.stack.compare import facts
from stackctl.errors import Drift
from stackctl.ports import Ports


@dataclass(frozen=True)
class Shape:
    """How much of a difference is wanted. `area`: only what belongs there. `exit_code`: 7 when there is any."""

    stat: bool = False
    name_only: bool = False
    area: str | None = None
    exit_code: bool = False


@dataclass(frozen=True)
class BaseDiff:
    """A queue against its base. `text` is what `git apply` takes, of the files wanted; `files` counts their lines."""

    stack: str
    variant: str
    base: TreeId
    tree: TreeId
    text: str
    files: tuple[FileCount, ...]
    shape: Shape

    @property
    def exit(self) -> int:
        return Drift.exit_code if self.shape.exit_code and self.files else 0


@dataclass(frozen=True)
class QueueChange:
    """One queue against another. `facts`: what the stacks say otherwise besides. `equal`: patches that are the same.

    `files`: the difference of the trees; `elsewhere`: files that differ because the bases do. `notes`: what could not
    be compared, and why.
    """

    old: str
    new: str
    stack: str
    facts: tuple[str, ...]
    changes: tuple[Change, ...]
    equal: int
    old_tree: TreeId | None
    new_tree: TreeId | None
    files: tuple[FileDiff, ...]
    elsewhere: int
    notes: tuple[str, ...]
    shape: Shape

    @property
    def exit(self) -> int:
        return Drift.exit_code if self.shape.exit_code and (self.changes or self.facts) else 0


def diff_base(ports: Ports, selection: Selection, shape: Shape = Shape()) -> BaseDiff:
    """The whole queue against the base. Raises PatchConflict."""
    ports, selection, revision = ports_of(ports, selection)
    whole = told_at(revision, lambda: diff_queue(ports, selection))
    files, text = by_file(whole.text), whole.text
    if shape.area:
        belongs = _belonging(shape.area, taken_patches(ports, selection)[2], whole.stack)
        files = tuple(file for file in files if belongs(file.path))
        text = "".join(file.text for file in files)
    counts = tuple(FileCount(file.path, file.added, file.removed) for file in files)
    return BaseDiff(whole.stack, whole.variant, whole.base, whole.tree, text, counts, shape)


def diff_queues(ports: Ports, old: str, selection: Selection, shape: Shape = Shape()) -> QueueChange:
    """`selection` is the new side, with --without and --with.

    Raises UsageError for a side that is not there, InvalidFile for a broken one.
    """
    before = read_side(ports, old)
    after = read_side(ports, selection.stack or "", selection)
    _refuse_absent(before, after)
    changes = compare(before.entries, after.entries)
    touched = {change.name for change in changes if change.new_order}
    files, elsewhere = _files(ports, before, after)
    change = QueueChange(
        old=before.label,
        new=after.label,
        stack=after.name,
        facts=_facts(before, after),
        changes=changes,
        equal=sum(entry.name not in touched for entry in after.entries),
        old_tree=before.trees.get(SGLANG),
        new_tree=after.trees.get(SGLANG),
        files=files,
        elsewhere=elsewhere,
        notes=_notes(before, after),
        shape=shape,
    )
    return _in_area(change, shape.area, [*before.entries, *after.entries]) if shape.area else change


def against_base(ports: Ports, selection: Selection, shape: Shape = Shape()) -> QueueChange:
    """A queue as the change that it is: all of its patches are added."""
    after = read_side(ports, selection.stack or "", selection)
    before = Side("the base", after.name, after.base, stack=after.stack, bases=after.bases, trees=after.bases)
    files, _ = _files(ports, before, after)
    change = QueueChange(
        old=f"base {after.base}",
        new=after.label or after.name,
        stack=after.name,
        facts=(),
        changes=compare((), after.entries),
        equal=0,
        old_tree=after.bases[SGLANG],
        new_tree=after.trees.get(SGLANG),
        files=files,
        elsewhere=0,
        notes=_notes(before, after),
        shape=shape,
    )
    return _in_area(change, shape.area, after.entries) if shape.area else change


def _refuse_absent(before: Side, after: Side) -> None:
    """A stack that one side lacks is new or gone, if the other side has it; else its name is mistyped."""
    for side, other in ((before, after), (after, before)):
        if side.absent and (other.absent or other.name != side.name):
            raise side.absent


def _facts(before: Side, after: Side) -> tuple[str, ...]:
    if before.absent or after.absent:
        return (f"stack {after.name}: {'new' if before.absent else 'taken out'}",)
    if before.stack and after.stack:
        return facts(before.stack, after.stack)
    return (f"base: {before.base} -> {after.base}",) if before.base != after.base else ()


def _notes(before: Side, after: Side) -> tuple[str, ...]:
    notes = [f"{side.label} does not compose: {side.no_tree}" for side in (before, after)
             if side.no_tree and not side.is_lock]  # fmt: skip
    notes += [f"{side.label}: {side.no_tree}" for side in (before, after) if side.no_tree and side.is_lock]
    if before.is_lock or after.is_lock:
        notes.append("a lock holds no flags and no environment: those are not compared")
    return tuple(notes)


def _files(ports: Ports, before: Side, after: Side) -> tuple[tuple[FileDiff, ...], int]:
    """The difference of the trees, and how many files more differ since the bases do."""
    if before.no_tree or after.no_tree:
        return (), 0
    files, elsewhere = list[FileDiff](), 0
    for source in dict.fromkeys([*before.bases, *after.bases]):
        first, last = _tree(before, after, source), _tree(after, before, source)
        found = by_file(ports.git.diff(first, last)) if first and last and first != last else ()
        if before.bases.get(source) != after.bases.get(source) and not (before.absent or after.absent):
            names = {name for entry in (*before.entries, *after.entries) for name in _names(entry)}
            elsewhere += sum(file.path not in names for file in found)
            found = tuple(file for file in found if file.path in names)
        files += found
    return tuple(files), elsewhere


def _tree(side: Side, other: Side, source: str) -> TreeId | None:
    """A stack that is not there stands for the base of the other."""
    return side.trees.get(source) or side.bases.get(source) or (other.bases.get(source) if side.absent else None)


def _names(entry: Entry) -> Collection[str]:
    return {name for file in entry.patch.files for name in (file.old, file.new) if name} if entry.patch else ()


def _in_area(change: QueueChange, area: str, entries: Sequence[Entry]) -> QueueChange:
    belongs = _belonging(area, [entry.patch for entry in entries if entry.patch], change.stack)
    return replace(
        change,
        changes=tuple(one for one in change.changes if area.lower() in one.areas),
        files=tuple(file for file in change.files if belongs(file.path)),
        elsewhere=0,
    )


def _belonging(area: str, patches: Sequence[Patch], stack: str) -> Callable[[str], bool]:
    """Whether a file is of the area: by its path, or because a patch that says so touches it."""
    wanted = wanted_area(area, patches, stack)
    said = [patch for patch in patches if areas_of(patch)[0] == wanted]
    touched = {file.path for patch in said for file in patch.files}
    return lambda path: path in touched or area_of(path) == wanted
