"""The repository that holds the workspace, as it was at a commit. It is read by plumbing and never touched: no index
is refreshed, no lock taken, nothing fetched, no hook or filter run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from stackctl.adapters.git.sealed import Said, Sealed, sealed
from stackctl.adapters.git.store import blobs, tree_entry
from stackctl.core.names import Commit
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Files

MOST_COMMITS = 500  # of one file, when its earlier contents are looked for


class GitRevisions:
    """`ports.Revisions`."""

    def __init__(self, files: Files) -> None:
        self._sealed = Sealed(files)

    def top(self, folder: str) -> str:
        said = self._git(folder, "rev-parse", "--show-prefix", fail=False)
        if said.code:
            raise UsageError(f"{folder} is in no git repository", "A revision can be named only inside of one.")
        prefix = _text(said.out).rstrip("/")
        if not prefix or folder.endswith(f"/{prefix}"):
            return folder.removesuffix(prefix).rstrip("/") or "/"
        return _text(self._git(folder, "rev-parse", "--show-toplevel").out)  # reached through a link

    def commit(self, folder: str, revision: str) -> Commit:
        self.top(folder)
        said = self._git(
            folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", fail=False
        )
        if said.code:
            shallow = _text(self._git(folder, "rev-parse", "--is-shallow-repository").out) == "true"
            hint = "The clone is shallow: `git fetch --unshallow` gets the rest." if shallow else None
            raise UsageError(
                f"the repository has no commit {revision}", hint or "`git log --oneline -- stacks patches` shows them."
            )
        return Commit(_text(said.out))

    def modes(self, folder: str, commit: Commit) -> Mapping[str, str]:
        out = self._git(folder, "ls-tree", "-r", "-z", "--long", "--full-tree", commit).out
        entries = (tree_entry(line) for line in out.split(b"\0") if line)
        return {entry.path: entry.mode for entry in entries}

    def read(self, folder: str, commit: Commit, paths: Sequence[str]) -> Mapping[str, bytes]:
        asked = [path for path in dict.fromkeys(paths) if "\n" not in path]
        stdin = b"".join(f"{commit}:".encode() + os.fsencode(path) + b"\n" for path in asked)
        out = self._git(folder, "cat-file", "--batch", "--follow-symlinks", stdin=stdin).out
        return dict(blobs(asked, out))

    def earlier(self, folder: str, path: str) -> Iterator[bytes]:
        top = self.top(folder)
        # no `log`: with log.showSignature of that repository it runs the program that its gpg.program names
        words = ("--literal-pathspecs", "rev-list", f"--max-count={MOST_COMMITS}", "--all", "--", path)
        out = self._git(top, *words, fail=False).out
        for commit in _text(out).split():
            yield from self.read(top, Commit(commit), [path]).values()

    def _git(self, folder: str, *args: str, stdin: bytes = b"", fail: bool = True) -> Said:
        """Git finds the repository of `folder` itself; all else is as in the store."""
        env = {key: value for key, value in sealed(self._sealed.store()).items() if key not in _OF_THE_STORE}
        said = self._sealed.run(["-C", folder, *args], stdin, {**env, "GIT_NO_LAZY_FETCH": "1"})
        if fail and said.code:
            raise StackctlError(f"git {args[0]} failed in {folder}: {said.err.strip() or 'it said nothing'}")
        return said


_OF_THE_STORE = ("GIT_DIR", "GIT_CEILING_DIRECTORIES")


def _text(out: bytes) -> str:
    return os.fsdecode(out).strip("\n")
