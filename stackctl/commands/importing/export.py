"""`patches export`: the queue as a branch of real commits, or as a mailbox. Importing either gives the same files.

Ids depend on content alone: the committer is fixed, author and date are the header's. A branch is only ever made
where there was none; nothing else of the repository is touched.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.tree import compose, tree_after_each
from stackctl.core.importing import mailbox
from stackctl.core.importing.commits import commit_id, commit_text, read_commit
from stackctl.core.importing.decide import is_canonical
from stackctl.core.names import SGLANG, Commit, PatchName, TreeId
from stackctl.core.patches.canonical import canonical
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.values import Header, Patch, PatchedTree
from stackctl.core.stack.resolved import Base, GitBase, PathBase, PypiBase, ResolvedStack
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports


@dataclass(frozen=True)
class ExportRequest:
    """To `branch` of the repository `to`, standing on `parent` (else on a commit of the base), or into `mbox`."""

    selection: Selection
    branch: str | None = None
    to: str | None = None
    parent: str | None = None
    mbox: str | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class Exported:
    """`commits`: name and id in order, none for a mailbox. `left_out`: patches of other sources.

    `new`: the branch or file was not there before.
    """

    stack: str
    variant: str
    tree: TreeId
    patches: tuple[PatchName, ...]
    commits: tuple[tuple[PatchName, Commit], ...]
    base: Commit | None
    tip: Commit | None
    target: str
    left_out: tuple[PatchName, ...]
    new: bool
    dry_run: bool


@dataclass(frozen=True)
class _Step:
    """`header` is what the canonical file of the patch says."""

    patch: Patch
    tree: TreeId
    data: bytes
    header: Header


def export_patches(ports: Ports, request: ExportRequest) -> Exported:
    """Raises UsageError for a repository, parent or branch that will not do; then nothing was written."""
    if request.mbox is None and not (request.branch and request.to):
        raise UsageError("where to? A branch wants a name and a repository", "Say `--branch NAME --to REPO`.")
    if request.mbox in ("", "-"):
        raise UsageError("--mbox takes the name of a file", "It is written whole or not at all, so not to stdout.")
    stack, whole, steps = _steps(ports, load(ports, request.selection))
    if request.mbox is not None:
        return _to_mailbox(ports, request.mbox, (stack, whole, steps), dry_run=request.dry_run)
    return _to_branch(ports, request, (stack, whole, steps))


Plan = tuple[ResolvedStack, PatchedTree, Sequence[_Step]]


def _steps(ports: Ports, stack: ResolvedStack) -> Plan:
    taken, whole = compose(ports, stack)
    trees = {SGLANG: whole.base, **{name: each.base for name, each in whole.sources.items()}}
    steps = []
    for patch, (_, tree) in zip(whole.patches, tree_after_each(ports, stack), strict=True):
        data = _canonical(ports, patch, trees[patch.source], tree)
        written = parse(data, patch.file)
        assert isinstance(written, ParsedPatch)
        steps.append(_Step(patch, tree, data, written.header))
        trees[patch.source] = tree
    return taken, whole, steps


def _canonical(ports: Ports, patch: Patch, before: TreeId, after: TreeId) -> bytes:
    """The file as it is, or as an import would write it."""
    parsed = parse(patch.data, patch.file)
    if isinstance(parsed, ParsedPatch) and is_canonical(parsed):
        return patch.data
    subject = patch.header.subject or patch.name.rpartition("/")[2]
    diff = ports.git.diff(before, after).encode("utf-8", "surrogateescape")
    return canonical(replace(patch.header, subject=subject), diff)


def _to_mailbox(ports: Ports, file: str, plan: Plan, *, dry_run: bool) -> Exported:
    stack, whole, steps = plan
    path = posixpath.join(ports.files.cwd(), file)
    data = mailbox.join([step.data for step in steps])
    there = ports.files.read(path) if ports.files.exists(path) else None
    if there is not None and there != data:
        raise UsageError(f"{file} is there already, and is not overwritten", "Name another file, or remove it.")
    if not dry_run and there is None:
        ports.files.write(path, data)
    names = tuple(step.patch.name for step in steps)
    return Exported(stack.name, str(stack.variant), whole.tree, names, (), None, None, file, (), there is None, dry_run)


def _to_branch(ports: Ports, request: ExportRequest, plan: Plan) -> Exported:
    stack, whole, steps = plan
    repository = posixpath.join(ports.files.cwd(), request.to or "")
    own = [step for step in steps if step.patch.source == SGLANG]
    if not own:
        raise UsageError(f"{stack.name} has no patches to make commits of")
    parent, objects = _base(ports, stack, whole.base, repository, request.parent)
    base, commits = parent, list[tuple[PatchName, Commit]]()
    if base is None:
        base = commit_id(objects[0])
    tip = base
    for step in own:
        objects.append(commit_text(step.header, step.tree, tip))
        tip = commit_id(objects[-1])
        commits.append((step.patch.name, tip))
    new = True if request.dry_run else ports.branches.put(repository, request.branch or "", objects, parent)
    return Exported(
        stack.name,
        str(stack.variant),
        whole.tree,
        tuple(step.patch.name for step in own),
        tuple(commits),
        base,
        tip,
        f"{request.to}, branch {request.branch}",
        tuple(step.patch.name for step in steps if step.patch.source != SGLANG),
        new,
        request.dry_run,
    )


def _base(
    ports: Ports, stack: ResolvedStack, tree: TreeId, repository: str, asked: str | None
) -> tuple[Commit | None, list[bytes]]:
    """The commit to stand on: one of the repository, or a new one that holds the base's tree and nothing before it."""
    pinned = asked or _pinned(stack.base)
    found = ports.branches.find(repository, pinned) if pinned else None
    if found is not None:
        facts = read_commit(found.commit, found.data)
        if facts.tree != tree:
            message = f"{pinned} has tree {facts.tree}, and the base of {stack.name} is tree {tree}"
            raise UsageError(message, "Name a commit that holds the base, or leave --parent out.")
        return facts.commit, []
    if asked:
        raise UsageError(f"{repository} has no commit {asked}", "See `git log`, or leave --parent out.")
    if pinned:
        hint = "Fetch it there, or choose a repository that has it."
        raise StackctlError(f"{repository} lacks the base of {stack.name}, commit {pinned}", hint)
    header = Header(f"Base of stackctl's queue: {_told(stack.base)}", None, None, "")
    return None, [commit_text(header, tree, None)]


def _pinned(base: Base) -> str | None:
    return base.commit if isinstance(base, (GitBase, PathBase)) else None


def _told(base: Base) -> str:
    return base.requirement if isinstance(base, PypiBase) else "a folder"
