"""Imports a range of commits: one patch a commit, authors and dates kept. Merges are refused by name.

Where the fork's base is the very tree that the patches stand on, the trees of the commits are taken as they are.
Elsewhere each commit's diff is applied, and every file that was touched must come out as the fork has it.
"""

from __future__ import annotations

from collections.abc import Sequence

from stackctl.commands.importing.ground import Draft, Ground, draft, follow
from stackctl.commands.tree import listing_of
from stackctl.core.importing.commits import CommitFacts, read_commit
from stackctl.core.importing.decide import Incoming, Note, Taken
from stackctl.core.importing.roots import narrowed
from stackctl.core.names import TreeId
from stackctl.core.patches.canonical import canonical
from stackctl.core.patches.faults import Fault, error_of
from stackctl.errors import PatchConflict, StackctlError, UsageError
from stackctl.ports import Ports, TreeFile

SHOWN = 5


def take_fork(ports: Ports, ground: Ground, repository: str, range_: str) -> Taken:
    """Raises UsageError for a range that is none, StackctlError for merges, PatchConflict where a diff does not fit."""
    base, head = _ends(range_)
    with ports.progress.step(f"reading {range_} of {repository}"):
        raw = ports.branches.read(repository, base, head)
    if not raw.commits:
        raise UsageError(f"{range_} holds no commit", f"`git log {range_}` shows what a range holds.")
    start = read_commit(raw.base.commit, raw.base.data)
    commits = [read_commit(one.commit, one.data) for one in raw.commits]
    _refuse_merges(commits)
    if start.tree == ground.tree and not ground.how.only:
        changes = tuple(Incoming(_origin(one), one.header, one.tree) for one in commits)
        return Taken(changes, commits[-1].tree)
    return _applied(ports, ground, start, commits)


def _ends(range_: str) -> tuple[str, str]:
    base, dots, head = range_.partition("..")
    if not dots or head.startswith(".") or not base or ".." in head:
        raise UsageError(f"{range_!r} is no range", "Write BASE..HEAD: commits of HEAD that BASE has not.")
    return base, head or "HEAD"


def _origin(commit: CommitFacts) -> str:
    return f"commit {commit.commit[:12]}"


def _refuse_merges(commits: Sequence[CommitFacts]) -> None:
    merges = [f"{one.commit[:12]} {one.header.subject}" for one in commits if len(one.parents) > 1]
    if merges:
        message = f"{len(merges)} of the commits are merges: " + "; ".join(merges[:SHOWN])
        raise StackctlError(message, "A merge has two old sides and is no patch: `git rebase` makes the branch linear.")


def _applied(ports: Ports, ground: Ground, start: CommitFacts, commits: Sequence[CommitFacts]) -> Taken:
    drafts, notes, before = list[Draft](), list[Note](), start.tree
    faults: list[Fault] = []
    for commit in commits:
        text = ports.git.diff(before, commit.tree).encode("utf-8", "surrogateescape")
        before = commit.tree
        text, dropped = narrowed(text, ground.how.keeps)
        if dropped:
            notes.append(Note("left-out", f"{commit.header.subject}: {', '.join(dropped)}", _origin(commit)))
        if not text:
            said = f"{commit.header.subject}: changes nothing that is asked for"
            notes.append(Note("skipped", said, _origin(commit)))
            continue
        made = draft(ground.how, _origin(commit), canonical(commit.header, text))
        if isinstance(made, Fault):
            faults.append(made)
        else:
            drafts.append(made)
    if faults:
        raise error_of(faults)
    _refuse_outside(ports, ground, drafts)
    changes, moved = follow(ports, ground.tree, drafts)
    made_tree = changes[-1].tree if changes else ground.tree
    tree, unproved = _expected(ports, ground, (start.tree, commits[-1].tree), made_tree)
    return Taken(tuple(changes), tree, (*notes, *moved, *unproved))


def _refuse_outside(ports: Ports, ground: Ground, drafts: Sequence[Draft]) -> None:
    """A fork holds tests and documents too; a base that is a wheel does not."""
    known = {path.partition("/")[0] for path in listing_of(ports, ground.tree)}
    touched = {name.partition("/")[2] for each in drafts for section in each.patch.files for name in section.names}
    outside = sorted(path for path in touched if path.partition("/")[0] not in known)
    if outside:
        message = f"{len(outside)} files lie in no folder of the base: {', '.join(outside[:SHOWN])}"
        raise PatchConflict(message, f"`--only {sorted(known)[0]}` leaves them out, and lists what is skipped.")


def _expected(
    ports: Ports, ground: Ground, fork: tuple[TreeId, TreeId], made: TreeId
) -> tuple[TreeId, tuple[Note, ...]]:
    """Our tree with every file that the fork changed as the fork has it; and files where the bases differ."""
    first, last, ours = (listing_of(ports, tree) for tree in (*fork, ground.tree))
    touched = sorted(path for path in {*first, *last} if first.get(path) != last.get(path) and ground.how.keeps(path))
    apart = [path for path in touched if first.get(path) != ours.get(path)]
    theirs = [path for path in touched if path not in apart]
    contents = ports.git.read(fork[1], [path for path in theirs if path in last])
    files = {path: TreeFile(path, contents[path], last[path][0]) if path in last else None for path in theirs}
    mixed = listing_of(ports, made)
    here = ports.git.read(made, [path for path in apart if path in mixed])
    files |= {path: TreeFile(path, here[path], mixed[path][0]) if path in mixed else None for path in apart}
    notes = [Note("unproved", "the fork's base has another file, so the result is not the fork's", p) for p in apart]
    return ports.git.change(ground.tree, files), tuple(notes)
