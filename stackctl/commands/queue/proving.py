"""Proves a queue as it would be after a change of one of its patches: those above it, and other stacks that carry it.

Each patch gets a verdict, so that one conflict hides no other. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stackctl.commands.authoring.editing import Opened
from stackctl.commands.changes import Change
from stackctl.commands.gather import load_file
from stackctl.commands.queue.foreseen import foreseen
from stackctl.commands.queue.others import Changed, reached
from stackctl.commands.tree import apply_patches, read_queue
from stackctl.commands.workspace import Chosen
from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.faults import Fault, error_of
from stackctl.core.patches.values import Offset, Queue
from stackctl.errors import StackctlError
from stackctl.ports import Ports


@dataclass(frozen=True)
class Verdict:
    """`verdict`: clean, offset (places in `offsets`), conflict, or not proved. `stack`: another one that carries it."""

    name: PatchName
    verdict: str
    stack: str | None = None
    reason: str | None = None
    hint: str | None = None
    offsets: tuple[Offset, ...] = ()

    @property
    def broken(self) -> bool:
        return self.verdict == "conflict"


def judged(now: Ports, changes: Sequence[Change], opening: Opened, tree: TreeId) -> tuple[Verdict, ...]:
    """Of every patch above the changed one, then of every other stack that the changes reach.

    `tree`: what the queue must give up to the changed patch. Raises its own fault, if it has one.
    """
    name, chosen = opening.edit.name, Chosen(opening.place.stack, opening.place.workspace)
    later, _ = foreseen(now, {change.path: change.after or b"" for change in changes})
    stack = load_file(later, chosen)
    read = read_queue(later, stack)
    queue = read.queue
    if name in queue.conflicts:
        raise error_of([queue.conflicts[name]])
    own = next(at for at, patch in enumerate(queue.patches) if patch.name == name)
    made = apply_patches(later, read, queue.patches[: own + 1]).trees[opening.edit.source]
    if made != tree:
        raise StackctlError(
            f"the patch file of {name} gives tree {made}, its work tree is {tree}",
            "Nothing is written. Look at the queue with `stackctl patches verify`.",
        )
    above = tuple(_verdict(queue, patch.name) for patch in queue.patches[own + 1 :])
    if not queue.conflicts:
        apply_patches(later, read, queue.patches)  # git must agree with all of it
    change = Changed(chosen, stack, frozenset(each.path for each in changes))
    return (*above, *_elsewhere(now, later, change, name))


def _verdict(queue: Queue, name: PatchName) -> Verdict:
    if name in queue.conflicts:
        return _conflict(name, queue.conflicts[name])
    offsets = tuple(offset for offset in queue.offsets if offset.patch == name)
    return Verdict(name, "offset" if offsets else "clean", offsets=offsets)


def _conflict(name: PatchName, fault: Fault, stack: str | None = None) -> Verdict:
    problem = fault.problem()
    return Verdict(name, "conflict", stack, str(problem), problem.hint)


def _elsewhere(now: Ports, later: Ports, change: Changed, name: PatchName) -> Iterator[Verdict]:
    for other in reached(now, later, change):
        if other.invalid is not None:
            yield Verdict(name, "conflict", other.stack, other.invalid.message, other.invalid.hint)
        elif not other.proved:
            hint = f"`stackctl patches verify {other.stack}` proves it."
            yield Verdict(name, "not proved", other.stack, "its base is another one", hint)
        else:
            broken = [_conflict(each, fault, other.stack) for each, fault in other.broken.items()]
            yield from broken or [Verdict(name, "clean", other.stack)]
