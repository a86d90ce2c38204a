"""`stackctl patches rebase`: what a queue is worth on another base, one verdict a patch. It looks and changes nothing;
rebase_write.py writes what this found, rebase_session.py goes on where hands were needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stackctl.commands.gather import load
from stackctl.commands.rebase.landed import landed
from stackctl.commands.rebase.memory import remembered
from stackctl.commands.rebase.onto import Pinned, label_of, pin
from stackctl.commands.rebase.tries import Answers, Rebasing
from stackctl.commands.selection import Selection
from stackctl.commands.tree import Read, judge, read_queue
from stackctl.commands.workspace import shown
from stackctl.core.names import PatchName, TreeId
from stackctl.core.rebase.merge import Labels
from stackctl.core.rebase.verdict import Rebased
from stackctl.core.stack.resolved import Base, ResolvedStack
from stackctl.core.stack.variant import leave_out
from stackctl.core.stack.versions import patch_file
from stackctl.errors import PatchConflict, UsageError
from stackctl.ports import Ports


@dataclass(frozen=True)
class RebaseRequest:
    """`keep`: patches that stay although their Remove-when holds. `sha256`: of the wheel, where the user knows it."""

    selection: Selection
    onto: str
    sha256: str | None = None
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class RebaseReport:
    """`tree`: the new base with all patches that have a place on it. `files`: what --write wrote, or would write.

    `work`: the folder where a conflict waits for hands. `diff`: what a dry run would write. `hints`: how to go on.
    """

    stack: str
    variant: str
    old: Base
    old_tree: TreeId
    new: Base
    new_tree: TreeId
    tree: TreeId
    patches: tuple[Rebased, ...]
    files: tuple[str, ...] = ()
    written: bool = False
    work: str | None = None
    diff: str = ""
    hints: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, str]:
        return label_of(self.old), label_of(self.new)

    @property
    def exit(self) -> int:
        """3 when a patch wants hands."""
        return PatchConflict.exit_code if any(patch.wants_hands for patch in self.patches) else 0


@dataclass(frozen=True)
class Prepared:
    """Stack, queue and both bases; what a rebase, its writing and its session all begin with.

    `all_patches`: with those that the variant leaves out.
    """

    selection: Selection
    all_patches: tuple[PatchName, ...]
    stack: ResolvedStack
    read: Read
    old: Pinned
    new: Pinned
    answers: Answers

    def labels(self, name: PatchName) -> Labels:
        return Labels(self.new.label, self.old.label, name)

    def run(self, ports: Ports) -> tuple[Rebasing, RebaseReport]:
        rebasing = Rebasing(ports, self.read, self.new, self.labels, self.answers)
        patches = rebasing.run()
        stack = self.stack
        return rebasing, RebaseReport(
            stack.name,
            str(stack.variant),
            self.old.base,
            self.old.tree,
            self.new.base,
            self.new.tree,
            rebasing.tree,
            patches,
        )


def rebase(ports: Ports, request: RebaseRequest) -> RebaseReport:
    """Raises InvalidFile for broken patch files, UsageError for an --onto that names no base."""
    return prepare(ports, request).run(ports)[1]


def prepare(ports: Ports, request: RebaseRequest) -> Prepared:
    loaded = load(ports, request.selection)
    read = read_queue(ports, loaded)
    stack = leave_out(loaded, read.queue.needs)
    new = pin(ports, request.onto, stack.base, request.sha256)
    if new.tree == read.queue.base:
        raise UsageError(f"{new.label} has the tree of {label_of(stack.base)}", "There is nothing to rebase.")
    read, old = _without(read, stack), Pinned(stack.base, read.queue.base)
    answers = Answers(
        keep=_kept(stack, request.keep),
        versions=_versions(ports, stack, new),
        commits=landed(ports, read, old, new),
        memory=remembered(ports, stack),
    )
    return Prepared(request.selection, loaded.patches, stack, read, old, new, answers)


def _without(read: Read, stack: ResolvedStack) -> Read:
    """The queue as the variant has it."""
    patches = tuple(patch for patch in read.queue.patches if patch.name in stack.patches)
    return replace(read, queue=replace(read.queue, patches=patches), walk=judge(read, patches))


def _kept(stack: ResolvedStack, names: tuple[str, ...]) -> frozenset[PatchName]:
    unknown = [name for name in names if name not in stack.patches]
    if unknown:
        raise UsageError(f"the queue has no patch {unknown[0]}", "--keep takes a patch of the queue.")
    return frozenset(PatchName(name) for name in names)


def _versions(ports: Ports, stack: ResolvedStack, new: Pinned) -> dict[PatchName, tuple[str, bytes]]:
    """Files that the patches have for the new base already."""
    if new.key is None:
        return {}
    files = {name: patch_file(stack.workspace, name, new.key) for name in stack.patches}
    there = {name: file for name, file in files.items() if ports.files.exists(file)}
    return {name: (shown(ports, file), ports.files.read(file)) for name, file in there.items()}
