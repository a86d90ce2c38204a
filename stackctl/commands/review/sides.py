"""Reads one side of a comparison of queues: a stack, a lock file, or either as it was at a git revision.

`prod`, `stacks/prod.yaml`, `prod.lock`, `prod@HEAD~3`, `prod@main:`, `@v1` (the default stack). The past is read with
the reader of the present; a queue that does not compose is told, because its list can be compared all the same.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256

from stackctl.commands.gather import load
from stackctl.commands.review.revision import Revision, ports_at, told_at
from stackctl.commands.selection import Selection
from stackctl.commands.tree import apply_patches, read_queue
from stackctl.commands.workspace import choose, shown, workspace_of
from stackctl.core.names import SGLANG, Digest, PatchName, TreeId
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.series import settle, strip_level
from stackctl.core.patches.values import PatchedTree
from stackctl.core.review.compare import Entry
from stackctl.core.stack.compare import pin, pin_of_lock
from stackctl.core.stack.locked import read_lock
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.stack.variant import leave_out
from stackctl.errors import InvalidFile, PatchConflict, Problem, StackctlError, UsageError, Where
from stackctl.ports import Ports

FILE_AT = re.compile(r"(?P<name>.*?\.(?:yaml|yml|lock))@(?P<revision>.+)|(?P<plain>[^@]*)@(?P<of>.+)", re.DOTALL)

AS_THE_FILE_SAYS = Selection()


@dataclass(frozen=True)
class Side:
    """`label`: as typed, with what a revision means. `stack` is None for a lock, and for a stack that is not there.

    `trees` by source; empty when the queue does not compose, and `no_tree` says why. `bases`: the trees it begins at.
    """

    label: str
    name: str
    base: str = ""
    entries: tuple[Entry, ...] = ()
    stack: ResolvedStack | None = None
    bases: Mapping[str, TreeId] = field(default_factory=dict)
    trees: Mapping[str, TreeId] = field(default_factory=dict)
    no_tree: str | None = None
    absent: StackctlError | None = None

    @property
    def is_lock(self) -> bool:
        return self.stack is None and self.absent is None


def read_side(ports: Ports, text: str, selection: Selection = AS_THE_FILE_SAYS) -> Side:
    """`selection` gives --without and --with. Raises UsageError and InvalidFile, each naming the revision."""
    name, revision_name = split(text)
    revision, at = None, ports
    if revision_name is not None:
        at, revision = ports_at(ports, repository(ports, name), revision_name)
    label = f"{name}@{revision}" if revision else name
    if name.endswith(".lock"):
        return told_at(revision, lambda: _lock(at, name, label))
    try:
        choose(at, name or None)
    except UsageError as error:
        if revision is None:
            raise
        error.message = f"at {revision}: {error.message}"
        return Side(label, _stem(name), absent=error)
    wanted = replace(selection, stack=name or None)
    return told_at(revision, lambda: _stack(at, wanted, label))


def ports_of(ports: Ports, selection: Selection) -> tuple[Ports, Selection, Revision | None]:
    """For a verb that looks at one stack: with `STACK@REVISION`, the files of then and the selection without it."""
    name, revision_name = split(selection.stack or "")
    if revision_name is None:
        return ports, selection, None
    at, revision = ports_at(ports, repository(ports, name), revision_name)
    return at, replace(selection, stack=name or None), revision


def split(text: str) -> tuple[str, str | None]:
    """A stack or file, and the revision behind `@`, which may end with git's own colon."""
    match = FILE_AT.fullmatch(text)
    if not match:
        return text, None
    name, revision = (match["name"], match["revision"]) if match["name"] else (match["plain"], match["of"])
    return name, revision.removesuffix(":") or "HEAD"


def _stem(name: str) -> str:
    base = posixpath.basename(name)
    return base.rpartition(".")[0] if base.endswith((".yaml", ".yml", ".lock")) else base


def repository(ports: Ports, name: str) -> str:
    """A folder that is there now and lies in the repository."""
    cwd = ports.files.cwd()
    folder = posixpath.normpath(posixpath.join(cwd, posixpath.dirname(name)))
    while not ports.files.is_dir(folder):
        folder = posixpath.dirname(folder)
    return workspace_of(ports, folder) or folder


def _stack(ports: Ports, selection: Selection, label: str) -> Side:
    stack = load(ports, selection)
    read = read_queue(ports, stack)
    taken = leave_out(stack, read.queue.needs)
    kept = {*taken.patches, *taken.variant.added}
    patches = [patch for patch in read.queue.patches if patch.name in kept]
    tree, reason = None, None
    try:
        tree = apply_patches(ports, read, patches)
    except PatchConflict as error:
        reason = str(error)
    named = label if selection.stack else f"{stack.name}{label}"
    return Side(
        label=f"{named} {taken.variant}".rstrip(),
        name=stack.name,
        base=pin(stack),
        entries=tuple(Entry(patch.name, patch.sha256, patch) for patch in patches),
        stack=taken,
        bases={name: part.queue.base for name, part in read.parts.items()},
        trees=_trees(tree) if tree else {},
        no_tree=reason,
    )


def _trees(tree: PatchedTree) -> dict[str, TreeId]:
    return {SGLANG: tree.tree, **{name: source.tree for name, source in tree.sources.items()}}


def _lock(ports: Ports, name: str, label: str) -> Side:
    path = _lock_path(ports, name)
    near = shown(ports, path)
    try:
        locked = read_lock(ports.files.read(path))
    except ValueError as error:
        raise InvalidFile([Problem(f"not a lock file: {error}", Where(near))]) from error
    workspace = workspace_of(ports, posixpath.dirname(path)) or posixpath.dirname(path)
    paths = _paths(ports, locked.bases)
    entries = tuple(_entry(ports, workspace, one, paths) for one in locked.patches)
    there = all(ports.git.has_tree(tree) for tree in locked.trees.values())
    reason = None if there else f"the store lacks the tree that {near} names"
    return Side(
        label=label,
        name=locked.stack,
        base=pin_of_lock(locked.base),
        entries=entries,
        bases=locked.bases,
        trees=locked.trees if there else {},
        no_tree=reason,
    )


def _lock_path(ports: Ports, name: str) -> str:
    """A path as given, or the name of a lock of the workspace."""
    given = posixpath.normpath(posixpath.join(ports.files.cwd(), name))
    workspace = workspace_of(ports, ports.files.cwd())
    places = [given, *([f"{workspace}/stacks/{name}"] if workspace and "/" not in name else [])]
    found = next((path for path in places if ports.files.exists(path) and not ports.files.is_dir(path)), None)
    if found is None:
        raise UsageError(f"there is no lock file {name}", f"`stackctl lock {_stem(name)}` writes it")
    return found


def _paths(ports: Ports, bases: Mapping[str, TreeId]) -> frozenset[str]:
    """Names of the files of the bases, as far as the store has them: what tells strip levels."""
    there = [tree for tree in bases.values() if ports.git.has_tree(tree)]
    return frozenset(entry.path for tree in there for entry in ports.git.list(tree))


def _entry(ports: Ports, workspace: str, locked: tuple[PatchName, Digest], paths: frozenset[str]) -> Entry:
    """A patch of a lock, with its bytes when they are still to be had: in the workspace, or in its history."""
    name, digest = locked
    file = f"{workspace}/patches/{name}.patch"
    data = next((data for data in _contents(ports, workspace, file) if sha256(data).hexdigest() == digest), None)
    parsed = parse(data, shown(ports, file)) if data is not None else None
    if not isinstance(parsed, ParsedPatch):
        return Entry(name, digest, None)
    level = strip_level(parsed, paths.__contains__)
    return Entry(name, digest, settle(name, parsed, level if isinstance(level, int) else 1))


def _contents(ports: Ports, workspace: str, file: str) -> Iterator[bytes]:
    """What the patch's file holds, then its versions for some base, then what it held before."""
    folder, stem = posixpath.split(file.removesuffix(".patch"))
    versions = [name for name in ports.files.list(folder) if name.startswith(f"{stem}@") and name.endswith(".patch")]
    for each in (file, *(f"{folder}/{name}" for name in versions)):
        if ports.files.exists(each):
            yield ports.files.read(each)
    with suppress(UsageError):  # in no repository
        top = ports.revisions.top(workspace)
        yield from ports.revisions.earlier(workspace, posixpath.relpath(file, top))
