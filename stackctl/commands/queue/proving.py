"""Proves a queue as it would be after a change of one of its patches: those above it, and other stacks that carry it.

Each patch gets a verdict, so that one conflict hides no other. Nothing is written, and no base is fetched: a stack on
another base is named as not proved.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from stackctl.commands.authoring.editing import Opened
from stackctl.commands.gather import load_file
from stackctl.commands.tree import apply_patches, read_queue
from stackctl.commands.workspace import Chosen, stack_files
from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.faults import Fault, error_of
from stackctl.core.patches.values import Offset, Queue
from stackctl.core.stack.resolved import ResolvedStack
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


def judged(now: Ports, later: Ports, opening: Opened, tree: TreeId) -> tuple[Verdict, ...]:
    """Of every patch above the changed one, then of every other stack that has it.

    `tree`: what the queue must give up to the changed patch. Raises its own fault, if it has one.
    """
    name, place = opening.edit.name, opening.place
    stack = load_file(later, Chosen(place.stack, place.workspace))
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
    return (*above, *_elsewhere(now, later, opening, stack))


def _verdict(queue: Queue, name: PatchName) -> Verdict:
    if name in queue.conflicts:
        return _conflict(name, queue.conflicts[name])
    offsets = tuple(offset for offset in queue.offsets if offset.patch == name)
    return Verdict(name, "offset" if offsets else "clean", offsets=offsets)


def _conflict(name: PatchName, fault: Fault, stack: str | None = None) -> Verdict:
    problem = fault.problem()
    return Verdict(name, "conflict", stack, str(problem), problem.hint)


def _elsewhere(now: Ports, later: Ports, opening: Opened, ours: ResolvedStack) -> Iterator[Verdict]:
    place = opening.place
    for file in stack_files(now, place.workspace):
        if file != place.stack:
            chosen = Chosen(file, place.workspace)
            yield from _of_stack(now, later, (chosen, opening.edit.name), ours)


def _of_stack(now: Ports, later: Ports, which: tuple[Chosen, PatchName], ours: ResolvedStack) -> Iterator[Verdict]:
    """Only what the change breaks: a stack that is broken already is none of this edit's business."""
    chosen, name = which
    stem = posixpath.splitext(posixpath.basename(chosen.file))[0]
    was = _loaded(now, chosen)
    if isinstance(was, StackctlError):
        return
    stack = _loaded(later, chosen)
    if isinstance(stack, StackctlError):
        yield Verdict(name, "conflict", stem, stack.message, stack.hint)
        return
    if name not in stack.patches:
        return
    if (stack.base, stack.sources) != (ours.base, ours.sources):
        hint = f"`stackctl patches verify {stem}` proves it."
        yield Verdict(name, "not proved", stem, "its base is another one", hint)
        return
    faults = read_queue(later, stack).queue.conflicts
    known = read_queue(now, was).queue.conflicts if faults else {}
    broken = [_conflict(each, fault, stem) for each, fault in faults.items() if each not in known]
    yield from broken or [Verdict(name, "clean", stem)]


def _loaded(ports: Ports, chosen: Chosen) -> ResolvedStack | StackctlError:
    try:
        return load_file(ports, chosen)
    except StackctlError as error:
        return error
