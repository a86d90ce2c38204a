"""The other stacks of a workspace that a change of its files reaches, and what the change breaks in them.

A stack that is broken already is none of the change's business. No base is fetched for it: a stack on another base is
named as not proved, since only its own verify can tell.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stackctl.commands.gather import load_file
from stackctl.commands.tree import read_queue
from stackctl.commands.workspace import Chosen, stack_files
from stackctl.core.names import PatchName
from stackctl.core.patches.faults import Fault
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import StackctlError
from stackctl.ports import Ports


@dataclass(frozen=True)
class Reached:
    """One stack. `invalid`: why it could not be loaded any more. `proved`: False on another base. `broken`: patches
    that would not apply any more. `lost`: patches that it would not have any more."""

    stack: str
    invalid: StackctlError | None = None
    proved: bool = True
    broken: Mapping[PatchName, Fault] = field(default_factory=dict)
    lost: tuple[PatchName, ...] = ()


@dataclass(frozen=True)
class Changed:
    """A change of `files` (absolute paths), made for the sake of the stack `ours` in `chosen`."""

    chosen: Chosen
    ours: ResolvedStack
    files: frozenset[str]


def reached(now: Ports, later: Ports, change: Changed) -> Iterator[Reached]:
    """`later` sees the files as they would be."""
    for file in stack_files(now, change.chosen.workspace):
        if file != change.chosen.file:
            found = _reached(now, later, Chosen(file, change.chosen.workspace), change)
            if found:
                yield found


def _reached(now: Ports, later: Ports, chosen: Chosen, change: Changed) -> Reached | None:
    """None when the change does not reach it, or it was broken before."""
    name = posixpath.splitext(posixpath.basename(chosen.file))[0]
    was, will = _loaded(now, chosen), _loaded(later, chosen)
    if isinstance(was, StackctlError):
        return None
    if isinstance(will, StackctlError):
        return Reached(name, invalid=will)
    if was.patches == will.patches and change.files.isdisjoint(will.patch_files.values()):
        return None
    lost = tuple(patch for patch in was.patches if patch not in will.patches)
    if (was.base, was.sources) != (change.ours.base, change.ours.sources):
        return Reached(name, proved=False, lost=lost)
    faults = read_queue(later, will).queue.conflicts
    known = read_queue(now, was).queue.conflicts if faults else {}
    return Reached(name, broken={each: fault for each, fault in faults.items() if each not in known}, lost=lost)


def _loaded(ports: Ports, chosen: Chosen) -> ResolvedStack | StackctlError:
    try:
        return load_file(ports, chosen)
    except StackctlError as error:
        return error
