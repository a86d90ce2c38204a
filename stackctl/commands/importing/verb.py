"""`patches import`: whatever a fork is kept as becomes canonical patch files, and lines for the stack.

Every kind of source gives trees in order; a patch is what lies between two of them. Before anything is written, the
new files are read back and applied: they must give the very tree that the source has. Files are written all or none,
none is ever overwritten, and a stack is edited only when asked.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stackctl.commands.changes import Change, as_diff, change_stack, holder, readers
from stackctl.commands.gather import load
from stackctl.commands.importing.ground import Ground, How, Onto, read_entries, refuse_other_source
from stackctl.commands.importing.proof import prove_added, write_proved
from stackctl.commands.queue.foreseen import foreseen
from stackctl.commands.selection import Selection
from stackctl.commands.tree import apply_patches, read_queue
from stackctl.commands.workspace import Chosen, choose, shown
from stackctl.core.importing.decide import (
    Incoming,
    Note,
    Taken,
    names_of,
    same_but_ids,
    same_names,
    stack_lines,
    unsaid,
)
from stackctl.core.names import SGLANG, PatchName, TreeId
from stackctl.core.patches.canonical import canonical
from stackctl.core.patches.faults import Fault, error_of
from stackctl.core.patches.names import patch_name_fault
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.stack.edit import StackFile, add_patch
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports

Take = Callable[[Ports, Ground], Taken]


@dataclass(frozen=True)
class ImportRequest:
    """`take` reads the source. `names`: chosen names by number from 1. `onto`: behind the queue, or before it.

    `trailers` are for patches that do not say them.
    """

    selection: Selection
    take: Take
    topic: str
    names: Mapping[int, str] = field(default_factory=dict)
    how: How = field(default_factory=How)
    trailers: Mapping[str, str] = field(default_factory=dict)
    onto: Onto = "queue"
    source: str = SGLANG
    add: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class ImportedPatch:
    """`state`: new, or same when the file was there with these very bytes."""

    name: PatchName
    title: str
    author: str | None
    origin: str
    file: str
    files: int
    added: int
    removed: int
    state: str


@dataclass(frozen=True)
class ImportReport:
    """`source_tree` is what the source has, `result_tree` what the new patches make: always the same, or it fails.

    `lines` are for the stack file; `stack_file` names it when they are in it. `diff`: that edit.
    """

    stack: str
    onto: str
    start_tree: TreeId
    source_tree: TreeId
    result_tree: TreeId
    patches: tuple[ImportedPatch, ...]
    notes: tuple[Note, ...]
    lines: tuple[str, ...]
    stack_file: str | None
    diff: str
    dry_run: bool


@dataclass(frozen=True)
class _Made:
    """A patch file that could be written."""

    name: PatchName
    origin: str
    data: bytes
    patch: ParsedPatch
    tree: TreeId


def import_patches(ports: Ports, request: ImportRequest) -> ImportReport:
    """Raises UsageError, InvalidFile and PatchConflict; then nothing was written."""
    ports, seen = foreseen(ports, {})
    chosen = choose(ports, request.selection.stack)
    ground = _ground(ports, request)
    taken = request.take(ports, ground)
    made, skipped = _made(ports, request, ground, taken)
    result = _proved(ports, ground, taken, made)
    files = _new_files(ports, chosen, made)
    edit = _edit(ports, request, chosen, ground, made) if request.add and made else None
    changes = (*files, edit) if edit else tuple(files)
    wanted = result if request.onto == "queue" else None
    unproved = tuple(prove_added(ports, chosen, ground, changes, wanted)) if edit else ()
    if not request.dry_run:
        write_proved(ports, seen, chosen.workspace, changes)
    warned = unsaid([each.patch.header for each in made]) if made else None
    shared = [one for one in readers(ports, chosen.workspace, edit.path) if one != chosen.file] if edit else []
    told = f"it is the queue of {', '.join(shown(ports, one) for one in shared)} too" if shared else None
    remarks = [
        Note("remark", text, place) for text, place in ((warned, None), (told, edit.file if edit else None)) if text
    ]
    notes = (*taken.notes, *skipped, *unproved, *remarks)
    names, origins = [each.name for each in made], [each.origin for each in made]
    return ImportReport(
        ground.stack.name,
        request.onto,
        ground.tree,
        taken.tree,
        result,
        tuple(_row(each, file) for each, file in zip(made, files, strict=True)),
        notes,
        stack_lines(names, origins),
        edit.file if edit else None,
        as_diff([edit]) if edit else "",
        request.dry_run,
    )


def _ground(ports: Ports, request: ImportRequest) -> Ground:
    stack = load(ports, request.selection)
    if request.source not in (SGLANG, *stack.sources):
        raise UsageError(f"the stack declares no source {request.source}", "See `sources` in the stack file.")
    read = read_queue(ports, stack)
    base = read.parts[request.source].queue.base
    tree = base
    if request.onto == "queue":
        tree = apply_patches(ports, read, read.queue.patches).trees[request.source]
    return Ground(stack, base, tree, request.how, request.source)


def _made(ports: Ports, request: ImportRequest, ground: Ground, taken: Taken) -> tuple[list[_Made], list[Note]]:
    """The canonical file of each change. Raises the error of all that cannot be one."""
    changes, notes, before = list[tuple[Incoming, bytes]](), list[Note](), ground.tree
    for number, change in enumerate(taken.changes, 1):
        ports.progress.live(f"writing {number} of {len(taken.changes)}: {change.header.subject}")
        if change.tree == before:
            notes.append(Note("skipped", f"{change.header.subject}: changes nothing", change.origin))
            continue
        change = _with_trailers(_of_source(change, request.source), request.trailers)
        data = change.kept
        if data is None:
            text = ports.git.diff(before, change.tree).encode("utf-8", "surrogateescape")
            data = canonical(change.header, text)
        changes.append((change, data))
        before = change.tree
    incoming = [change for change, _ in changes]
    names = names_of(request.topic, incoming, request.names)
    _refuse_names(names, request.names, len(changes))
    parsed = [parse(data, change.origin) for change, data in changes]
    faults = [each for each in parsed if isinstance(each, Fault)]
    faults += same_names(names, [f"{change.origin}: {change.header.subject}" for change in incoming])
    if faults:
        raise error_of(faults)
    return [
        _Made(name, change.origin, data, patch, change.tree)
        for name, (change, data), patch in zip(names, changes, parsed, strict=True)
        if isinstance(patch, ParsedPatch)
    ], notes


def _of_source(change: Incoming, source: str) -> Incoming:
    """A patch for another tree says so, and one that says so is for no other."""
    refuse_other_source(change.origin, change.header, source)
    if source == SGLANG or change.header.trailer("Source"):
        return change
    header = replace(change.header, trailers=(*change.header.trailers, ("Source", source)), lines=())
    return replace(change, header=header, kept=None)


def _with_trailers(change: Incoming, trailers: Mapping[str, str]) -> Incoming:
    lacking = tuple((key, value) for key, value in trailers.items() if value and not change.header.trailer(key))
    if not lacking:
        return change
    header = replace(change.header, trailers=(*change.header.trailers, *lacking), lines=())
    return replace(change, header=header, kept=None)


def _refuse_names(names: Sequence[PatchName], given: Mapping[int, str], count: int) -> None:
    far = [number for number in given if not 1 <= number <= count]
    if far:
        raise UsageError(f"--name {far[0]}=…: there are {count} patches", "Numbers count from 1.")
    for name in names:
        fault = patch_name_fault(name)
        if fault:
            raise UsageError(f"{name} {fault}", "Choose a topic and names that git takes for a ref.")


def _proved(ports: Ports, ground: Ground, taken: Taken, made: Sequence[_Made]) -> TreeId:
    """The tree that the files make, which must be the source's. Raises StackctlError with the first difference."""
    result = ground.tree
    if made:
        with ports.progress.step(f"proving that the {len(made)} new files give the same tree"):
            again = read_entries(ports, ground.tree, [(each.name, each.patch) for each in made])
            result = apply_patches(ports, again, again.walk.patches).tree
    if result != taken.tree:
        stat = ports.git.diff(taken.tree, result, stat=True).splitlines()
        first = stat[0].strip() if stat else ""
        message = f"the source has tree {taken.tree}, the patches would make {result}: {first}"
        raise StackctlError(message, "Nothing was written. This is a fault of the import: please report it.")
    return result


def _new_files(ports: Ports, chosen: Chosen, made: Sequence[_Made]) -> list[Change]:
    """Raises UsageError for files that are there with other bytes."""
    changes, other = list[Change](), list[str]()
    for each in made:
        path = posixpath.join(chosen.workspace, "patches", f"{each.name}.patch")
        before = ports.files.read(path) if ports.files.exists(path) else None
        same = before is not None and same_but_ids(before, each.data)
        if before is not None and not same:
            other.append(shown(ports, path))
        changes.append(Change(path, shown(ports, path), before, before if same else each.data))
    if other:
        message = f"{len(other)} patch files are there already, and are not overwritten: {', '.join(other)}"
        raise UsageError(message, "Choose another `--topic`, or other names: `--name NUMBER=NAME`.")
    return changes


def _edit(ports: Ports, request: ImportRequest, chosen: Chosen, ground: Ground, made: Sequence[_Made]) -> Change:
    queue = ground.stack.patches
    first = queue[0] if queue and request.onto == "base" else None

    def edited(file: StackFile) -> StackFile:
        for each in made:
            file = add_patch(file, each.name, before=first)
        return file

    return change_stack(ports, holder(ports, chosen, first) if first else chosen.file, edited)


def _row(made: _Made, file: Change) -> ImportedPatch:
    header, sections = made.patch.header, made.patch.files
    lines = [line for section in sections for hunk in section.hunks for line in hunk.lines]
    added, removed = (sum(line.startswith(mark) for line in lines) for mark in (b"+", b"-"))
    return ImportedPatch(
        made.name,
        header.subject or "",
        header.author,
        made.origin,
        file.file,
        len(sections),
        added,
        removed,
        "new" if file.before is None else "same",
    )
