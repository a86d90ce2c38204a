"""Opens work trees for patches: `patches new`, `patches edit`, and the list of what is open.

The tree is what the queue gives up to the patch, written by git. A work tree that is there is never written over: an
edit that is open is opened again as it was left. No file of the queue is changed here: refresh.py does that.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stackctl.commands.authoring.editing import (
    MESSAGE,
    Opened,
    Place,
    all_open,
    discard,
    find,
    opened,
    place_of,
    remember,
)
from stackctl.commands.authoring.worktree import keep, moved_aside, only_there, refuse_losing, refuse_unfit
from stackctl.commands.changes import Change, change_stack, holder
from stackctl.commands.gather import load_file
from stackctl.commands.queue.foreseen import foreseen
from stackctl.commands.tree import Read, apply_patches, listing_of, read_queue
from stackctl.commands.workspace import Chosen, choose, shown, workspace_of
from stackctl.core.authoring.edit import Edit, changed, diff_digest, worth_keeping
from stackctl.core.authoring.worktree import Merged
from stackctl.core.names import SGLANG, Digest, PatchName, TreeId
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.parse import parse
from stackctl.core.patches.values import Patch
from stackctl.core.stack.edit import add_patch
from stackctl.core.stack.merge import did_you_mean
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports


@dataclass(frozen=True)
class NewRequest:
    """`after`/`ahead_of`: a patch of the queue beside which the new one goes; neither: the end."""

    name: str
    stack: str | None = None
    after: str | None = None
    ahead_of: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Open:
    """An open edit as it stands. `behind`: the patches below it. `files`: what it has changed so far.

    `left_out`: files that git ignores. `merged`: what could be done for a patch that did not apply. `trouble`: why
    its work tree cannot be read.
    """

    name: PatchName
    stack: str
    folder: str
    new: bool
    resumed: bool = False
    base: TreeId | None = None
    behind: tuple[PatchName, ...] = ()
    files: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    merged: tuple[Merged, ...] = ()
    trouble: str | None = None


@dataclass(frozen=True)
class Aborted:
    """An edit that was given up. `diff`: the file that keeps what was in it; None when it had changed nothing."""

    name: PatchName
    stack: str
    diff: str | None


def new_patch(ports: Ports, request: NewRequest) -> Open:
    """A work tree for a patch that is to be. Raises UsageError for a name that is taken, InvalidFile for a bad one."""
    chosen = choose(ports, request.stack)
    place = place_of(chosen, request.name)
    edit = opened(ports, place)
    if edit:
        if edit.diff:
            raise UsageError(f"{place.name} is open as a patch that is there already", "Go on with `patches refresh`.")
        return replace(state_of(ports, Opened(place, edit)), resumed=True)
    stack = load_file(ports, chosen)
    if place.name in stack.patches:
        opens = f"`stackctl patches edit {place.name} {place.called}` opens it."
        raise UsageError(f"the queue has a patch {place.name}", opens)
    if ports.files.exists(place.patch_file):
        file = shown(ports, place.patch_file)
        raise UsageError(f"{file} is there, but not in the queue", "Add its line to the stack, or take another name.")
    source = request.source or SGLANG
    if source not in (SGLANG, *stack.sources):
        hint = did_you_mean(source, (SGLANG, *stack.sources)) or "Declare it under `sources` first."
        raise UsageError(f"the stack declares no source {source}", hint)
    edit = Edit(place.name, relative(place), source, TreeId(""), None, request.after, request.ahead_of)
    behind = names_before(ports, chosen, edit)
    edit = replace(edit, base=tree_before(ports, read_queue(ports, stack), behind, source))
    _make(ports, Opened(place, edit), place.folder, edit.base)
    return replace(state_of(ports, Opened(place, edit)), behind=behind)


def edit_patch(ports: Ports, name: str, stack: str | None, *, update: bool = False) -> Open:
    """The work tree of a patch of the queue, its change uncommitted in it; as it was left when it is open already.

    `update`: put what was edited so far onto the queue as it is now. Raises UsageError, PatchConflict.
    """
    chosen = choose(ports, stack)
    place = place_of(chosen, name)
    edit = opened(ports, place)
    if edit:
        _restore_base(ports, chosen, Opened(place, edit))
    if edit and update:
        return _updated(ports, chosen, Opened(place, edit))
    if edit:
        ports.work_trees.lend(place.folder)
        return replace(state_of(ports, Opened(place, edit)), resumed=True)
    if update:
        raise UsageError(
            f"no edit of {place.name} is open for {place.called}",
            f"`stackctl patches edit {place.name} {place.called}` opens it.",
        )
    loaded = load_file(ports, chosen)
    if place.name not in loaded.patches:
        near = did_you_mean(place.name, loaded.patches)
        there = ports.files.exists(place.patch_file)
        new = "its file is there: add its line first" if there else f"`stackctl patches new {place.name}` makes one"
        hint = near or new
        raise UsageError(f"the queue has no patch {place.name}", hint)
    read = read_queue(ports, loaded)
    behind = loaded.patches[: loaded.patches.index(place.name)]
    patch = next(each for each in read.queue.patches if each.name == place.name)
    base = tree_before(ports, read, behind, patch.source)
    edit = Edit(place.name, relative(place), patch.source, base, _diff_digest(patch))
    if place.name in read.queue.conflicts:
        merged = _make(ports, Opened(place, edit), place.folder, _Change.of(patch))
    else:
        tree = tree_before(ports, read, (*behind, place.name), patch.source)
        merged = _make(ports, Opened(place, edit), place.folder, tree)
    return replace(state_of(ports, Opened(place, edit)), behind=behind, merged=merged)


def open_edits(ports: Ports) -> tuple[Open, ...]:
    """All edits of the workspace that are open. One that cannot be read says so. Nothing is mended or swept."""
    workspace = workspace_of(ports, ports.files.cwd())
    found = []
    for each in all_open(ports, workspace) if workspace else ():
        try:
            found.append(state_of(ports, each))
        except StackctlError as error:
            found.append(_plain(ports, each, trouble=error.message))
    return tuple(found)


def abort(ports: Ports, name: str | None, stack: str | None, yes: bool = False) -> Aborted:
    """Give an edit up; its diff is kept beside it. Raises UsageError when nobody agrees to what would be lost."""
    opening = find(ports, name, stack)
    place, edit = opening.place, opening.edit
    _restore_base(ports, Chosen(place.stack, place.workspace), opening)
    snapshot = ports.work_trees.snapshot(place.folder, edit.base)
    lost = only_there(ports, opening, snapshot)
    if lost and not (yes or ports.who.confirm(f"Delete {', '.join(lost)} of the work tree, which no diff keeps?")):
        raise UsageError(f"the work tree holds what no diff keeps: {', '.join(lost)}", "Say --yes to delete it.")
    diff = ports.git.diff(edit.base, snapshot.tree).encode("utf-8", "surrogateescape")
    kept = keep(ports, opening, snapshot, diff)
    told = Aborted(edit.name, place.called, kept and shown(ports, kept))  # the user may stand in what now goes
    if not moved_aside(ports, opening, snapshot):
        raise _typed(opening, "given up")
    discard(ports, place.gone)
    return told


def names_before(ports: Ports, chosen: Chosen, edit: Edit) -> tuple[PatchName, ...]:
    """The patches below a new one, in the queue as it would be with its line."""
    line = line_of(ports, chosen, edit)
    later, _ = foreseen(ports, {line.path: line.after or b"", f"{chosen.workspace}/patches/{edit.name}.patch": b""})
    patches = load_file(later, chosen).patches
    return patches[: patches.index(edit.name)]


def line_of(ports: Ports, chosen: Chosen, edit: Edit) -> Change:
    """The line of a new patch: in the file that lists the patch beside which it goes, else in the stack's own."""
    anchor = edit.after or edit.ahead_of
    path = holder(ports, chosen, anchor) if anchor else chosen.file
    return change_stack(ports, path, lambda file: add_patch(file, edit.name, after=edit.after, before=edit.ahead_of))


def tree_before(ports: Ports, read: Read, names: Sequence[PatchName], source: str) -> TreeId:
    """The tree of these patches. Raises PatchConflict when one of them does not apply."""
    return apply_patches(ports, read, [patch for patch in read.queue.patches if patch.name in names]).trees[source]


def state_of(ports: Ports, opening: Opened) -> Open:
    """An open edit and what it has changed so far. Raises StackctlError when git cannot read its work tree."""
    edit = opening.edit
    snapshot = ports.work_trees.snapshot(opening.folder, edit.base)
    return replace(
        _plain(ports, opening),
        base=edit.base,
        files=changed(listing_of(ports, edit.base), listing_of(ports, snapshot.tree)),
        left_out=worth_keeping(snapshot.left_out),
    )


def relative(place: Place) -> str:
    return posixpath.relpath(place.stack, place.workspace)


@dataclass(frozen=True)
class _Change:
    """A diff that is to be put into a work tree as far as it goes."""

    data: bytes
    strip: int
    paths: tuple[str, ...]

    @classmethod
    def of(cls, patch: Patch) -> _Change:
        return cls(patch.data, patch.strip, tuple(section.path for section in patch.files))


def _updated(ports: Ports, chosen: Chosen, opening: Opened) -> Open:
    """The same edits on the queue as it is now. What was there before is kept as a diff beside the work tree."""
    place, edit = opening.place, opening.edit
    stack = load_file(ports, chosen)
    read = read_queue(ports, stack)
    patch = next((each for each in read.queue.patches if each.name == edit.name), None)
    behind = stack.patches[: stack.patches.index(edit.name)] if patch else names_before(ports, chosen, edit)
    now = replace(edit, base=tree_before(ports, read, behind, edit.source), writing=None)
    if patch and edit.diff:
        now = replace(now, diff=_diff_digest(patch))
    snapshot = ports.work_trees.snapshot(place.folder, edit.base)
    refuse_unfit(ports, opening, snapshot)
    refuse_losing(snapshot)
    diff = ports.git.diff(edit.base, snapshot.tree).encode("utf-8", "surrogateescape")
    keep(ports, opening, snapshot, diff)
    tree = ports.git.apply(now.base, [(diff, 1)]).tree if diff else now.base
    paths = changed(listing_of(ports, edit.base), listing_of(ports, snapshot.tree))
    merged = _make(ports, Opened(place, now), place.making, tree or _Change(diff, 1, paths))
    if not moved_aside(ports, opening, snapshot):
        discard(ports, place.making)
        raise _typed(opening, "put onto the queue as it is now")
    ports.work_trees.move(place.making, place.folder)
    discard(ports, place.gone)
    return replace(state_of(ports, Opened(place, now)), behind=behind, merged=merged, resumed=True)


def _make(ports: Ports, opening: Opened, folder: str, content: TreeId | _Change) -> tuple[Merged, ...]:
    """A work tree made aside and moved into place whole, its record in it."""
    place, edit = opening.place, opening.edit
    title = f"{relative(place)}: all that comes before {edit.name}"
    tree = edit.base if isinstance(content, _Change) else content
    with ports.progress.step(f"writing the work tree of {edit.name}"):
        ports.work_trees.make(place.making, edit.base, tree, edit.name, title)
        merged: tuple[Merged, ...] = ()
        if isinstance(content, _Change):
            merged = ports.work_trees.merge(place.making, content.data, content.strip, content.paths)
        if ports.files.exists(f"{place.folder}/{MESSAGE}"):
            ports.files.write(f"{place.making}/{MESSAGE}", ports.files.read(f"{place.folder}/{MESSAGE}"))
        remember(ports, place.making, edit)
        if folder != place.making:
            ports.work_trees.move(place.making, folder)
    return merged


def _restore_base(ports: Ports, chosen: Chosen, opening: Opened) -> None:
    """The tree that the edit began at, made anew when the store was deleted. Raises StackctlError when it cannot be."""
    edit = opening.edit
    if not ports.git.has_tree(edit.base):
        stack = load_file(ports, chosen)
        names = stack.patches
        behind = names[: names.index(edit.name)] if edit.name in names else names_before(ports, chosen, edit)
        tree_before(ports, read_queue(ports, stack), behind, edit.source)
    if not ports.git.has_tree(edit.base):
        raise StackctlError(
            f"the store has lost the tree that the edit of {edit.name} began at, and the queue gives another one now",
            f"Copy your files out of {shown(ports, opening.place.folder)}.",
        )


def _typed(opening: Opened, meanwhile: str) -> StackctlError:
    message = f"files of {opening.edit.name} were changed while it was {meanwhile}; the edit stays open"
    return StackctlError(message, "Run it again.")


def _plain(ports: Ports, opening: Opened, trouble: str | None = None) -> Open:
    place, edit = opening.place, opening.edit
    return Open(edit.name, place.called, opening.folder, new=edit.diff is None, trouble=trouble)


def _diff_digest(patch: Patch) -> Digest:
    parsed = parse(patch.data, patch.file)
    assert not isinstance(parsed, Fault)  # it was read from this very text
    return diff_digest(parsed)
