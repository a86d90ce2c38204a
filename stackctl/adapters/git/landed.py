"""Which commits of a repository are patches of a queue, by git's patch-id: same change, whatever its place and message.

It needs the history between two bases, and fetches it into the store when it is not whole there. Where it cannot be
had, nothing is said to have landed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackctl.adapters.git.fetch import fetch, refuse_unsafe
from stackctl.adapters.git.sealed import Sealed
from stackctl.core.names import Commit
from stackctl.core.rebase.merge import Landable

PATCH = ("-p", "-U3", "--full-diff", "--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")


Span = tuple[Commit, Commit]  # after the first, up to the second


def landed(git: Sealed, url: str, span: Span, queue: Mapping[str, Landable]) -> dict[str, Commit]:
    """Key -> the commit of the span that is this patch: by what its header says, else by its diff."""
    if not queue or not _has_history(git, url, span):
        return {}
    wanted = {patch_id: key for key, each in queue.items() for patch_id, _ in _ids(git, each.diff)}
    paths = sorted({path for each in queue.values() for path in each.paths})
    log = git.git("--literal-pathspecs", "log", *PATCH, "--format=commit %H", f"{span[0]}..{span[1]}", "--", *paths)
    found = {wanted[patch_id]: commit for patch_id, commit in _ids(git, log.out) if patch_id in wanted}
    known = set(git.git("rev-list", f"{span[0]}..{span[1]}").out.decode().split())
    return found | {key: each.said for key, each in queue.items() if each.said in known}


def _has_history(git: Sealed, url: str, span: Span) -> bool:
    def whole() -> bool:
        return git.git("rev-list", "--quiet", "--objects", f"{span[0]}..{span[1]}", fail=False).code == 0

    for commit in () if whole() else span:
        refuse_unsafe(url, "HEAD", commit)
        fetch(git, url, commit, ())
    return whole()


def _ids(git: Sealed, diff: bytes) -> Iterator[tuple[str, Commit]]:
    """Patch-id and commit of each diff in a log; older gits, which know no exact id, find none."""
    said = git.git("patch-id", "--verbatim", stdin=diff, fail=False)
    for line in said.out.decode().splitlines() if said.code == 0 else ():
        patch_id, _, commit = line.partition(" ")
        yield patch_id, Commit(commit)
