"""Proves a queue in another order, or with fewer patches, before a byte of the workspace is written.

The tree that the same patches give where their lines are now is the measure. The changed workspace is read as any
verb reads it, composed by the walk and by git, and must give that tree. A patch whose stated lines would then fit in
several places, or in a wrong one, is written anew for its place; what still disagrees is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stackctl.commands.changes import Change
from stackctl.commands.gather import load_file
from stackctl.commands.queue.foreseen import foreseen
from stackctl.commands.queue.others import Changed, reached
from stackctl.commands.tree import Read, apply_patches, judge, read_queue
from stackctl.commands.workspace import Chosen
from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.canonical import with_diff
from stackctl.core.patches.faults import error_of
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.values import Patch
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import PatchConflict, StackctlError
from stackctl.ports import Ports


@dataclass(frozen=True)
class Other:
    """Another stack that the change reaches. `proved` is False where only its own verify can tell."""

    stack: str
    proved: bool
    lost: tuple[PatchName, ...] = ()


@dataclass(frozen=True)
class Proof:
    """`changes`: what is to be written; `rewritten`: patches whose line numbers had to change; `trees` by source."""

    changes: tuple[Change, ...]
    rewritten: tuple[PatchName, ...]
    trees: Mapping[str, TreeId]
    others: tuple[Other, ...]


@dataclass(frozen=True)
class Plan:
    """The queue as it is, the patches of it that are to stay in their new order, and the changes that say so."""

    chosen: Chosen
    stack: ResolvedStack
    read: Read
    order: Sequence[Patch]
    changes: tuple[Change, ...]


def refuse_conflicts(read: Read) -> None:
    """A queue that does not apply as it is proves nothing."""
    if read.queue.conflicts:
        raise error_of(list(read.queue.conflicts.values()))


def prove(ports: Ports, plan: Plan) -> Proof:
    """Raises PatchConflict when the changed queue gives another tree, or breaks another stack."""
    wanted = apply_patches(ports, plan.read, plan.order).trees
    changes = plan.changes
    later = after(ports, changes)
    read = _read_anew(later, plan)
    astray = _astray(plan, read)
    if astray:
        changes += tuple(_rewritten(ports, plan, patch) for patch in plan.order if patch.name in astray)
        later = after(ports, changes)
        read = _read_anew(later, plan)
    refuse_conflicts(read)
    made = apply_patches(later, read, read.queue.patches).trees
    for source, tree in made.items():
        if tree != wanted[source]:
            raise _another(ports, source, wanted[source], tree)
    return Proof(changes, tuple(astray), made, tuple(elsewhere(ports, later, plan)))


def after(ports: Ports, changes: Sequence[Change]) -> Ports:
    """Ports that see what would be written."""
    return foreseen(ports, {change.path: change.after for change in changes if change.after is not None})[0]


def _read_anew(later: Ports, plan: Plan) -> Read:
    stack = load_file(later, plan.chosen)
    names = tuple(patch.name for patch in plan.order)
    if stack.patches != names:
        raise StackctlError(f"the changed {stack.file} would list {', '.join(stack.patches)}: nothing is written")
    return read_queue(later, stack)


def _astray(plan: Plan, read: Read) -> list[PatchName]:
    """Patches that would not go where their lines are, or only by a search that finds several places."""
    meant = {(each.patch, each.line): each.at for each in judge(plan.read, plan.order).landings}
    gone = {each.patch for each in read.walk.landings if meant.get((each.patch, each.line)) != each.at}
    for part in read.sources.values():
        gone |= {each.patch for each in part.walk.landings if meant.get((each.patch, each.line)) != each.at}
    gone |= {name for name, fault in read.queue.conflicts.items() if fault.needs_base}
    return [patch.name for patch in plan.order if patch.name in gone]


def _rewritten(ports: Ports, plan: Plan, patch: Patch) -> Change:
    """The patch file with the diff between the trees before and after it; its header stays byte for byte."""
    place = plan.order.index(patch)
    before = apply_patches(ports, plan.read, plan.order[:place]).trees[patch.source]
    after = apply_patches(ports, plan.read, plan.order[: place + 1]).trees[patch.source]
    parsed = parse(patch.data, patch.file)
    assert isinstance(parsed, ParsedPatch)
    diff = ports.git.diff(before, after).encode("utf-8", "surrogateescape")
    path = plan.stack.patch_files[patch.name]
    return Change(path, patch.file, patch.data, with_diff(parsed, diff))


def _another(ports: Ports, source: str, wanted: TreeId, tree: TreeId) -> PatchConflict:
    diff = ports.git.diff(wanted, tree)
    first = next((line for line in diff.splitlines() if line.startswith("diff --git ")), "").split(" b/")[-1]
    return PatchConflict(
        f"the changed queue gives {source} tree {tree}, not {wanted}; they differ in {first}",
        "Nothing is written. Export the patches that touch this file with more context (`git diff -U10`).",
    )


def elsewhere(now: Ports, later: Ports, plan: Plan) -> Iterator[Other]:
    """The other stacks that the plan's changes reach. Raises PatchConflict for one that would break."""
    change = Changed(plan.chosen, plan.stack, frozenset(each.path for each in plan.changes))
    for other in reached(now, later, change):
        if other.invalid is not None:
            message = f"the stack {other.stack} would not be valid any more: {other.invalid}"
            raise PatchConflict(message, other.invalid.hint) from other.invalid
        for fault in other.broken.values():
            problem = fault.problem()
            message = f"the stack {other.stack} reads the same file and would break: {problem}"
            raise PatchConflict(message, problem.hint)
        yield Other(other.stack, other.proved, other.lost)
