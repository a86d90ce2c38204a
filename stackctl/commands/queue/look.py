"""The verbs that look at a patch queue: list, show, diff, verify. None of them changes a file of the workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.tree import Read, apply_patches, compose, judge, plan_patches, read_queue
from stackctl.core.names import SGLANG, PatchName, TreeId
from stackctl.core.patches.depend import closure
from stackctl.core.patches.values import Header, Need, Offset, Patch, PatchedTree, Queue, SourceTree
from stackctl.core.review.graph import closures
from stackctl.core.review.rows import Row, needed_by, needs_of, remarks, rows_of
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.stack.variant import leave_out
from stackctl.errors import PatchConflict, UsageError
from stackctl.ports import Ports


@dataclass(frozen=True)
class PatchList:
    """`base` is the tree of sglang.

    `closures`, if asked for: each patch and all that it needs, without itself, in the order of the queue.
    """

    stack: str
    variant: str
    base: TreeId
    rows: tuple[Row, ...]
    closures: Mapping[PatchName, tuple[PatchName, ...]] | None = None
    sources: Mapping[str, TreeId] = field(default_factory=dict)  # trees of the other sources, before any patch


@dataclass(frozen=True)
class ShownPatch:
    """`text` is the file as it is; `row.order` its place in the queue."""

    row: Row
    file: str
    header: Header
    strip: int
    paths: tuple[str, ...]
    needs: tuple[Need, ...]
    needed_by: tuple[Need, ...]
    offsets: tuple[Offset, ...]
    text: str


@dataclass(frozen=True)
class QueueDiff:
    """`text` has the diff of each source; before those of other sources than sglang stands a line that says so."""

    stack: str
    variant: str
    base: TreeId
    tree: TreeId
    text: str
    sources: Mapping[str, SourceTree] = field(default_factory=dict)


@dataclass(frozen=True)
class PatchVerdict:
    """`verdict`: clean, offset (places in `offsets`), or conflict (`reason`, with the place and what to do).

    `alone`: the tree of the patch and what it needs, nothing else; None with a conflict.
    """

    name: PatchName
    verdict: str
    closure: tuple[PatchName, ...]
    alone: TreeId | None = None
    offsets: tuple[Offset, ...] = ()
    reason: str | None = None
    hint: str | None = None
    remarks: tuple[str, ...] = ()
    source: str = SGLANG


@dataclass(frozen=True)
class VerifyReport:
    """`tree`: of the whole queue; `regrouped`: of the same patches, each right after what it needs.

    `regrouped` is None where that order is not possible: a hunk at the edge of a file cannot be taken later. `sources`:
    both for each other source.
    """

    stack: str
    variant: str
    base: TreeId
    verdicts: tuple[PatchVerdict, ...]
    tree: TreeId | None
    regrouped: TreeId | None
    sources: Mapping[str, tuple[TreeId | None, TreeId | None]] = field(default_factory=dict)

    @property
    def exit(self) -> int:
        """3 with a conflict; 1 when the order of independent patches changes a tree."""
        if any(verdict.verdict == "conflict" for verdict in self.verdicts):
            return PatchConflict.exit_code
        pairs = ((self.tree, self.regrouped), *self.sources.values())
        return 0 if all(regrouped in (tree, None) for tree, regrouped in pairs) else 1


def list_patches(ports: Ports, selection: Selection, closure: bool = False, source: str | None = None) -> PatchList:
    """The queue in order, or those patches of it that are for `source`.

    Raises InvalidFile for broken patch files; conflicts are in the rows.
    """
    stack, read, patches = taken_patches(ports, selection)
    if source not in (None, SGLANG, *stack.sources):
        declared = ", ".join((SGLANG, *stack.sources))
        raise UsageError(f"{stack.name} has no source {source}", f"Its sources: {declared}.")
    names = {patch.name for patch in patches if source in (None, patch.source)}
    rows = tuple(row for row in rows_of(read.queue) if row.name in names)
    found = closures([row.name for row in rows], read.queue.needs) if closure else None
    return PatchList(stack.name, str(stack.variant), read.queue.base, rows, found, read.queue.sources)


def show_patch(ports: Ports, name: str, selection: Selection) -> ShownPatch:
    """One patch of the stack. Raises UsageError when the queue has none of that name."""
    queue = read_queue(ports, load(ports, selection)).queue
    patch = named_patch(queue, name)
    return ShownPatch(
        next(row for row in rows_of(queue) if row.name == patch.name),
        patch.file,
        patch.header,
        patch.strip,
        tuple(section.path for section in patch.files),
        needs_of(queue.needs, patch.name),
        needed_by(queue.needs, patch.name),
        tuple(offset for offset in queue.offsets if offset.patch == patch.name),
        patch.data.decode("utf-8", "surrogateescape"),
    )


def diff_queue(ports: Ports, selection: Selection) -> QueueDiff:
    """The whole queue against the base as one diff. Raises PatchConflict."""
    stack, tree = compose(ports, load(ports, selection))
    text = ports.git.diff(tree.base, tree.tree)
    for name, source in tree.sources.items():
        if source.tree != source.base:
            text += f"# source {name}: {source.base[:12]}..{source.tree[:12]}\n"
            text += ports.git.diff(source.base, source.tree)
    return QueueDiff(stack.name, str(stack.variant), tree.base, tree.tree, text, tree.sources)


def verify_queue(ports: Ports, selection: Selection) -> VerifyReport:
    """Each patch alone with what it needs, and the whole in two orders. Conflicts are told, not raised."""
    return verify_read(ports, *taken_patches(ports, selection))


def verify_read(ports: Ports, stack: ResolvedStack, read: Read, patches: Sequence[Patch]) -> VerifyReport:
    """The same of a queue that was read already, as `taken_patches` gives it."""
    walk = judge(read, patches)
    moved = [Offset(each.patch, each.file, each.hunk, each.at, each.offset) for each in walk.landings if each.offset]
    verdicts: list[PatchVerdict] = []
    for number, patch in enumerate(patches, 1):
        ports.progress.live(f"verifying {number} of {len(patches)}: {patch.name}")
        fault = walk.faults.get(patch.name)
        if fault:
            problem = fault.problem()
            verdict = PatchVerdict(
                patch.name, "conflict", (), reason=str(problem), hint=problem.hint, source=patch.source
            )
        else:
            offsets = tuple(offset for offset in moved if offset.patch == patch.name)
            verdict = _alone(ports, read, patch, offsets)
        verdicts.append(verdict)
    found = {}
    if not any(verdict.verdict == "conflict" for verdict in verdicts):
        found = _in_two_orders(ports, read, patches)
    whole, regrouped = found.pop(SGLANG, (None, None))
    return VerifyReport(stack.name, str(stack.variant), read.queue.base, tuple(verdicts), whole, regrouped, found)


def _in_two_orders(
    ports: Ports, read: Read, patches: Sequence[Patch]
) -> dict[str, tuple[TreeId | None, TreeId | None]]:
    """The tree of each source, and that of the same patches regrouped; None where that order is not possible."""
    whole = apply_patches(ports, read, patches).trees
    order = _regrouped(read.queue, patches)
    regrouped = {} if judge(read, order).faults else apply_patches(ports, read, order).trees
    return {name: (tree, regrouped.get(name)) for name, tree in whole.items()}


def taken_patches(ports: Ports, selection: Selection) -> tuple[ResolvedStack, Read, list[Patch]]:
    """The stack without what is left out, the whole queue as read, and those patches of it that are left."""
    stack = load(ports, selection)
    read = read_queue(ports, stack)
    taken = leave_out(stack, read.queue.needs)
    return taken, read, [patch for patch in read.queue.patches if patch.name in taken.patches]


def named_patch(queue: Queue, name: str) -> Patch:
    """The patch that is meant: by its name, `patch:NAME` or its file. Raises UsageError when the queue has none."""
    wanted = name.removesuffix(".patch").removeprefix("patches/").removeprefix("patch:")
    found = next((patch for patch in queue.patches if patch.name == wanted), None)
    if found:
        return found
    close = get_close_matches(wanted, [patch.name for patch in queue.patches], 1)
    hint = f"Did you mean {close[0]}?" if close else "`stackctl patches list` names them."
    raise UsageError(f"the queue has no patch {name}", hint)


def _alone(ports: Ports, read: Read, patch: Patch, offsets: tuple[Offset, ...]) -> PatchVerdict:
    names = closure(read.queue.needs, [patch.name])
    chosen = [each for each in read.queue.patches if each.name in names]
    listed = tuple(each.name for each in chosen)
    about: dict[str, Any] = {"remarks": remarks(patch), "source": patch.source}
    try:
        tree: PatchedTree = plan_patches(ports, read, chosen)
    except PatchConflict as error:
        return PatchVerdict(patch.name, "conflict", listed, reason=str(error), hint=error.hint, **about)
    word = "offset" if offsets else "clean"
    return PatchVerdict(patch.name, word, listed, tree.trees[patch.source], offsets, **about)


def _regrouped(queue: Queue, patches: Sequence[Patch]) -> list[Patch]:
    """From the last patch to the first, each after all that it needs: another order that must give the same tree."""
    order: list[Patch] = []
    for last in reversed(patches):
        names = closure(queue.needs, [last.name])
        order += [patch for patch in patches if patch.name in names and patch not in order]
    return order
