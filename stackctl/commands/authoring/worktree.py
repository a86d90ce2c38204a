"""Looks into the work tree of an edit: what may not go into a patch, and what would be lost with it."""

from __future__ import annotations

from stackctl.commands.authoring.editing import Opened
from stackctl.commands.tree import listing_of
from stackctl.commands.workspace import shown
from stackctl.core.authoring.edit import changed, is_binary, refusals, rejected, worth_keeping
from stackctl.core.authoring.worktree import Snapshot
from stackctl.errors import InvalidFile, Problem, StackctlError, Where
from stackctl.ports import Ports


def refuse_unfit(ports: Ports, opening: Opened, snapshot: Snapshot) -> None:
    """Raises InvalidFile with every file of the work tree that cannot go into a patch."""
    folder = shown(ports, opening.place.folder)
    old, new = listing_of(ports, opening.edit.base), listing_of(ports, snapshot.tree)
    paths = changed(old, new)
    before, after = ports.git.read(opening.edit.base, paths), ports.git.read(snapshot.tree, paths)
    contents = {path: (before.get(path, b""), after.get(path, b"")) for path in paths}
    problems = list(refusals(old, new, contents, folder))
    told = {problem.where.file for problem in problems if problem.where}
    for path in (*snapshot.unmerged, *rejected(snapshot.left_out)):
        if f"{folder}/{path}" not in told:
            problems.append(_unsettled(f"{folder}/{path}"))
    if problems:
        raise InvalidFile(problems, "Nothing is written; the edit stays open.")


def only_there(ports: Ports, opening: Opened, snapshot: Snapshot) -> tuple[str, ...]:
    """What no diff keeps: ignored files, stashes and branches, and files that git takes for binary."""
    old, new = listing_of(ports, opening.edit.base), listing_of(ports, snapshot.tree)
    data = ports.git.read(snapshot.tree, changed(old, new))
    binary = tuple(path for path, content in data.items() if is_binary(content))
    return (*worth_keeping(snapshot.left_out), *snapshot.only_here, *binary)


def refuse_losing(snapshot: Snapshot) -> None:
    """Raises StackctlError when something of the user's would go with the work tree that is in no patch."""
    kept = (*worth_keeping(snapshot.left_out), *snapshot.only_here)
    if kept:
        raise StackctlError(f"the work tree holds what no patch has: {', '.join(kept)}", "Move it away first.")


def moved_aside(ports: Ports, opening: Opened, seen: Snapshot) -> bool:
    """Takes the work tree out of sight, then looks once more: False, and back in its place, when it is not `seen`."""
    place = opening.place
    ports.work_trees.move(place.folder, place.gone)
    now = ports.work_trees.snapshot(place.gone, opening.edit.base)
    if _held(now) == _held(seen):
        return True
    ports.work_trees.move(place.gone, place.folder)
    return False


def _held(snapshot: Snapshot) -> tuple[object, ...]:
    return snapshot.tree, worth_keeping(snapshot.left_out), snapshot.only_here


def keep(ports: Ports, opening: Opened, snapshot: Snapshot, diff: bytes) -> str | None:
    """Write the diff of an edit beside its work tree, named by what it holds; None when there is none."""
    if not diff:
        return None
    file = opening.place.saved(snapshot.tree[:8])
    ports.files.write(file, diff)
    return file


def _unsettled(path: str) -> Problem:
    if path.endswith(".rej"):
        return Problem("holds hunks that are in no file yet", Where(path), hint="put them in by hand, then remove it")
    return Problem("is in conflict", Where(path), hint="settle it, then `git add` it")
