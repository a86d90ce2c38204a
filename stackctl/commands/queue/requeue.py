"""Moves a patch within its queue, and drops patches with all that falls with them. Both are proved before they are
done, and done whole or not at all.

The line that names a patch is changed in the file that holds it, which other stacks may extend: they are looked at
too, and are named. A patch file stays where it is unless its deletion is asked for and no stack names it any more.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from stackctl.commands.authoring.editing import all_open
from stackctl.commands.changes import Change, as_diff, chain_files, change_stack, holder, readers, write_changes
from stackctl.commands.gather import load_file, merged_chain
from stackctl.commands.queue.foreseen import ForeseenFiles, foreseen
from stackctl.commands.queue.graph import hints_of
from stackctl.commands.queue.look import named_patch
from stackctl.commands.queue.proof import Plan, Proof, after, prove, refuse_conflicts
from stackctl.commands.tree import Read, read_queue
from stackctl.commands.workspace import Chosen, choose, shown, stack_files
from stackctl.core.names import PatchName
from stackctl.core.patches.depend import dependents
from stackctl.core.patches.hints import Hint
from stackctl.core.patches.values import Need, Patch
from stackctl.core.stack import edit
from stackctl.core.stack.edit import StackFile
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.stack.source import Path
from stackctl.errors import PatchConflict, StackctlError, UsageError
from stackctl.ports import Ports

MENTIONS: tuple[Path, ...] = (("without",), ("bisect", "elements", "patches"))  # other lists that name patches


@dataclass(frozen=True)
class Beside:
    """A place in a queue: right after another patch, or right before it."""

    other: str
    before: bool = False


@dataclass(frozen=True)
class Dropping:
    """`dependants`: what needs the patch goes too. `here`: the files that the stack extends stay as they are, and it
    leaves out what it inherits. `delete`: the patch files go, unless a stack still names them.
    """

    name: str
    here: bool = False
    dependants: bool = False
    delete: bool = False


@dataclass(frozen=True)
class Requeued:
    """What was done, or with `written` False would be.

    `diff`: of the stack files, and of patch files that were written anew. `hints`: patches that stay and use a Python
    name of one that goes. `kept`: patch files that were to be deleted, and stay because a stack still names them.
    """

    stack: str
    patch: PatchName
    dropped: tuple[PatchName, ...]
    order: tuple[PatchName, ...]
    proof: Proof
    diff: str
    written: bool
    hints: tuple[Hint, ...] = ()
    deleted: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Opened:
    chosen: Chosen
    stack: ResolvedStack
    read: Read

    def plan(self, order: Sequence[Patch], changes: tuple[Change, ...]) -> Plan:
        return Plan(self.chosen, self.stack, self.read, order, changes)

    @property
    def patches(self) -> tuple[Patch, ...]:
        return self.read.queue.patches


def move_patch(ports: Ports, name: str, place: Beside, stack: str | None, *, dry_run: bool = False) -> Requeued:
    """Put a patch beside another one of its list. Raises PatchConflict when a need forbids it."""
    ports, seen = foreseen(ports, {})
    opened = _open(ports, stack)
    patch, other = named_patch(opened.read.queue, name), named_patch(opened.read.queue, place.other)
    if patch.name == other.name:
        raise UsageError(f"{patch.name} cannot go beside itself")
    rest = [each for each in opened.patches if each.name != patch.name]
    at = rest.index(other) + (not place.before)
    order = (*rest[:at], patch, *rest[at:])
    _refuse_needs(opened.read, order)
    path = _one_file(ports, opened.chosen, patch.name, other.name)
    beside = {"before" if place.before else "after": other.name}
    change = change_stack(ports, path, lambda file: edit.move_patch(file, patch.name, **beside))
    proof = prove(ports, opened.plan(order, (change,) if order != opened.patches else ()))
    if not dry_run:
        _write(ports, seen, opened, proof.changes)
    names = tuple(each.name for each in order)
    return Requeued(opened.stack.name, patch.name, (), names, proof, as_diff(proof.changes), not dry_run)


def drop_patch(ports: Ports, dropping: Dropping, stack: str | None, *, dry_run: bool = False) -> Requeued:
    """Take a patch out of the queue. Raises StackctlError when others need it and were not to go with it."""
    ports, seen = foreseen(ports, {})
    opened = _open(ports, stack)
    queue = opened.read.queue
    patch = named_patch(queue, dropping.name).name
    fall = dependents(queue.needs, [patch])
    gone = tuple(each.name for each in queue.patches if each.name == patch or each.name in fall)
    if fall and not dropping.dependants:
        raise _needed(patch, [name for name in gone if name != patch], queue.needs)
    _refuse_open(ports, opened.chosen, gone)
    order = tuple(each for each in queue.patches if each.name not in gone)
    proof = prove(ports, opened.plan(order, tuple(_lines_out(ports, opened.chosen, gone, dropping.here))))
    files, kept = _files_out(ports, opened, gone, proof) if dropping.delete else ((), ())
    if not dry_run:
        _write(ports, seen, opened, (*proof.changes, *files))
    return Requeued(
        opened.stack.name,
        patch,
        gone,
        tuple(each.name for each in order),
        proof,
        as_diff(proof.changes),
        not dry_run,
        tuple(hint for hint in hints_of(ports, opened.read) if hint.adds in gone and hint.patch not in gone),
        tuple(change.file for change in files),
        kept,
    )


def _open(ports: Ports, stack: str | None) -> _Opened:
    chosen = choose(ports, stack)
    found = load_file(ports, chosen)
    read = read_queue(ports, found)
    refuse_conflicts(read)
    return _Opened(chosen, found, read)


def _write(ports: Ports, seen: ForeseenFiles, opened: _Opened, changes: Sequence[Change]) -> None:
    """Refused when a file that was read for the proof is another one now."""
    moved = seen.moved_on(opened.chosen.workspace)
    if moved:
        names = ", ".join(shown(ports, path) for path in moved)
        raise StackctlError(f"changed meanwhile, so nothing is written: {names}", "Run the command again.")
    write_changes(ports, changes)


def _refuse_open(ports: Ports, chosen: Chosen, gone: Sequence[PatchName]) -> None:
    """What somebody is typing must not lose its place in the queue."""
    for each in all_open(ports, chosen.workspace):
        if each.place.stack == chosen.file and each.edit.name in gone:
            name = each.edit.name
            hint = f"`stackctl patches refresh {name}` folds it, `patches refresh {name} --abort` gives it up."
            raise StackctlError(f"an edit of {name} is open", hint)


def _refuse_needs(read: Read, order: Sequence[Patch]) -> None:
    place = {patch.name: at for at, patch in enumerate(order)}
    broken = [need for need in read.queue.needs if place[need.needs] > place[need.patch]]
    if broken:
        told = "; ".join(f"{need.patch} needs {need.needs} ({_reason(need)})" for need in broken)
        hint = f"`stackctl patches why {broken[0].patch} {broken[0].needs}` shows the lines."
        raise PatchConflict(f"the order cannot be so: {told}", hint)


def _reason(need: Need) -> str:
    return f"{need.reason}, {need.file}" if need.file else need.reason


def _needed(patch: PatchName, fall: Sequence[PatchName], needs: Sequence[Need]) -> StackctlError:
    direct = {need.patch: need for need in needs if need.needs == patch}
    told = ", ".join(
        f"{name} ({_reason(direct[name])})" if name in direct else f"{name} (through others)" for name in fall
    )
    return StackctlError(f"{patch} is needed: {told}", "--with-dependants drops them too.")


def _one_file(ports: Ports, chosen: Chosen, patch: PatchName, other: PatchName) -> str:
    path, beside = holder(ports, chosen, patch), holder(ports, chosen, other)
    if path != beside:
        raise StackctlError(
            f"{patch} is listed in {shown(ports, path)}, {other} in {shown(ports, beside)}: no one list has both",
            "Give a neighbour of the same file, or move the line by hand.",
        )
    return path


def _lines_out(ports: Ports, chosen: Chosen, gone: Sequence[PatchName], here: bool) -> Iterator[Change]:
    """Their lines, where they are listed; and in files that extend those, what names them besides."""
    lists: dict[str, list[str]] = {}
    inherited: list[str] = []
    for name in gone:
        path = holder(ports, chosen, name)
        if here and path != chosen.file:
            inherited.append(name)
        else:
            lists.setdefault(path, []).append(name)
    lost: dict[str, Sequence[str]] = {**lists, chosen.file: gone} if here else {**lists}
    stacks = dict.fromkeys([chosen.file, *(one for path in lost for one in readers(ports, chosen.workspace, path))])
    for file in dict.fromkeys(file for stack in stacks for file in chain_files(ports, stack)):
        above = chain_files(ports, file)
        without = _Without(
            lists.get(file, []),
            inherited if file == chosen.file else [],
            {name for path, names in lost.items() if path in above for name in names},
        )
        change = change_stack(ports, file, without.edited)
        if change.before != change.after:
            yield change


@dataclass(frozen=True)
class _Without:
    """A file without the lines `listed`, with `inherited` left out, and without any mention of what is `lost` in it."""

    listed: Sequence[str]
    inherited: Sequence[str]
    lost: Collection[str]

    def edited(self, file: StackFile) -> StackFile:
        if self.listed:
            file = edit.remove_patch(file, *self.listed)
        for path in MENTIONS:
            named = [name for name in edit.names_at(file, path) if name in self.lost]
            if named:
                file = edit.remove_names(file, path, *named)
        return edit.leave_out(file, *self.inherited) if self.inherited else file


def _files_out(
    ports: Ports, opened: _Opened, gone: Sequence[PatchName], proof: Proof
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The patch files to delete, with their versions for other bases; and those that a stack still names."""
    later = after(ports, proof.changes)
    out: list[Change] = []
    kept: list[str] = []
    for name in gone:
        above = posixpath.join(opened.chosen.workspace, "patches")
        stem = posixpath.basename(name)
        folder = posixpath.dirname(posixpath.join(above, name))
        files = [
            one
            for one in ports.files.list(folder)
            if one == f"{stem}.patch" or re.match(rf"{re.escape(stem)}@[^/]*\.patch$", one)
        ]
        paths = [posixpath.join(folder, one) for one in files]
        if any(_names(later, file, name) for file in stack_files(ports, opened.chosen.workspace)):
            kept += [shown(ports, path) for path in paths]
        else:
            out += [Change(path, shown(ports, path), ports.files.read(path), None) for path in paths]
    return tuple(out), tuple(kept)


def _names(ports: Ports, file: str, name: str) -> bool:
    """Whether a stack lists the patch; one that cannot be read does when the name stands anywhere in it."""
    try:
        listed = merged_chain(ports, file).value.get("patches")
    except StackctlError:
        return name.encode() in ports.files.read(file)
    return isinstance(listed, list) and name in listed
