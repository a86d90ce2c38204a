"""Reads a range of commits of somebody's repository, and hands a branch to one. Sealed: the repository's own
configuration, hooks, filters and replacements have no say in what is read; a read writes nothing there.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from stackctl.adapters.git.sealed import Said, Sealed, failure, sealed
from stackctl.adapters.git.store import storing
from stackctl.core.names import Commit
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Files
from stackctl.ports_import import RawCommit, RawRange

REVISION = re.compile(r"(?!-)(?!.*\.\.)[^\s\0-\x1f:?*\[\\]+")
MANY = 2000
NONE = "0" * 40


class GitBranches:
    """`ports_import.Branches`."""

    def __init__(self, files: Files) -> None:
        self._sealed = Sealed(files)

    def read(self, repository: str, base: str, head: str) -> RawRange:
        env = self._reading(repository)
        first, last = (self._commit(repository, name) for name in (base, head))
        out = self._asked(env, "rev-list", "--reverse", "--topo-order", f"--max-count={MANY + 1}", f"{first}..{last}")
        ids = out.decode().split()
        if len(ids) > MANY:
            raise UsageError(f"{base}..{head} holds more than {MANY} commits", "Is the base the right one?")
        if ids:  # where the branch left the base, which may have gone on since
            first = self._parent(env, ids[0], f"{base}..{head}")
        self._take_objects(env, first, last)
        raw = [RawCommit(Commit(one), data) for one, data in self._raw(env, [first, *ids])]
        return RawRange(raw[0], tuple(raw[1:]))

    def _parent(self, env: Mapping[str, str], commit: str, asked: str) -> str:
        said = self._sealed.git("rev-parse", "--verify", "--quiet", f"{commit}^", env=env, fail=False)
        if said.code:
            raise UsageError(f"{asked}: the two have no commit in common", "Name a base that the branch grew from.")
        return said.out.decode().strip()

    def find(self, repository: str, revision: str) -> RawCommit | None:
        env = self._reading(repository)
        commit = self._find(repository, revision)
        return next((RawCommit(Commit(one), data) for one, data in self._raw(env, [commit])), None) if commit else None

    def put(self, repository: str, name: str, commits: Sequence[bytes], parent: Commit | None) -> bool:
        self._refuse_name(name)
        folder = self._git_dir(repository)
        ref, env = f"refs/heads/{name}", self._reading(repository)
        tip = self._write(env, commits)
        there = self._find(repository, ref)
        if there == tip:
            return False
        if there:
            message = f"{repository} has a branch {name} already, at {there[:12]}"
            raise StackctlError(message, f"Choose another name, or delete it: `git branch -D {name}`.")
        wanted = f"{tip}\n" + (f"^{parent}\n" if parent else "")
        pack = self._asked(env, "pack-objects", "--stdout", "-q", "--revs", stdin=wanted.encode())
        theirs = {**sealed(self._sealed.store()), "GIT_DIR": folder}
        for args, data in ((("index-pack", "--stdin"), pack), (("update-ref", ref, tip, NONE), b"")):
            said = self._sealed.run(args, data, theirs)
            if said.code:
                raise _refused(repository, args[0], said)
        return True

    def _write(self, env: Mapping[str, str], commits: Sequence[bytes]) -> str:
        """The id of the last one. One process writes them all into the store."""
        with tempfile.TemporaryDirectory(prefix="stackctl-commits-") as folder:
            paths = [Path(folder, str(number)) for number in range(len(commits))]
            for path, data in zip(paths, commits, strict=True):
                path.write_bytes(data)
            stdin = "".join(f"{path}\n" for path in paths).encode()
            said = self._asked(env, "hash-object", "-t", "commit", "-w", "--stdin-paths", stdin=stdin)
        return said.split()[-1].decode()

    def _reading(self, repository: str) -> dict[str, str]:
        """The store's own settings, with the objects of the repository in reach."""
        said = self._in(repository, "rev-parse", "--path-format=absolute", "--git-path", "objects")
        objects = said.out.decode("utf-8", "surrogateescape").rstrip("\n")
        if re.search(r'[:"\\]', objects):
            objects = '"' + objects.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": objects, "GIT_NO_LAZY_FETCH": "1"}

    def _in(self, repository: str, *args: str, fail: bool = True) -> Said:
        store = self._sealed.store()
        env = {key: value for key, value in sealed(store).items() if key != "GIT_DIR"}
        env |= {"GIT_CEILING_DIRECTORIES": str(Path(repository).parent), "GIT_NO_LAZY_FETCH": "1"}
        said = self._sealed.run(["-C", repository, *args], b"", env)
        if said.code and fail:
            if "not a git repository" in said.err or "cannot change to" in said.err:
                raise UsageError(f"{repository} is no git repository", "Give the folder of a checkout, or a bare one.")
            raise _refused(repository, args[0], said)
        return said

    def _git_dir(self, repository: str) -> str:
        out = self._in(repository, "rev-parse", "--absolute-git-dir").out
        return out.decode("utf-8", "surrogateescape").rstrip("\n")

    def _find(self, repository: str, revision: str) -> str | None:
        if not REVISION.fullmatch(revision):
            raise UsageError(f"{revision!r} is no name of a commit", "Name a branch, a tag or an id.")
        said = self._in(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", fail=False)
        found = said.out.decode("ascii", "replace").strip()
        if len(found) == 64:
            raise StackctlError(f"{repository} names its objects by sha256, and the store by sha1")
        return found or None

    def _commit(self, repository: str, revision: str) -> str:
        found = self._find(repository, revision)
        if found is None:
            raise UsageError(f"{repository} has no commit {revision}", "Look with `git branch -a` and `git log`.")
        return found

    def _asked(self, env: Mapping[str, str], *args: str, stdin: bytes = b"") -> bytes:
        return self._sealed.git(*args, stdin=stdin, env=env).out

    def _raw(self, env: Mapping[str, str], ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        out = self._asked(env, "cat-file", "--batch", stdin="".join(f"{one}\n" for one in ids).encode())
        at = 0
        for one in ids:
            end = out.index(b"\n", at)
            size = int(out[at:end].rsplit(b" ", 1)[1])
            yield one, out[end + 1 : end + 1 + size]
            at = end + size + 2

    def _take_objects(self, env: Mapping[str, str], base: str, head: str) -> None:
        """What the store lacks of the trees of the range goes into it as one pack; no commit before the base."""
        names = ("--objects", "--no-object-names")
        listed = self._asked(env, "rev-list", *names, "--no-walk", base)
        listed += self._asked(env, "rev-list", *names, f"{base}..{head}")
        known = self._asked({}, "cat-file", "--batch-check", stdin=listed)
        lacking = b"".join(line.split(b" ")[0] + b"\n" for line in known.splitlines() if line.endswith(b" missing"))
        if lacking:
            self._adopt(self._asked(env, "pack-objects", "--stdout", "-q", stdin=lacking))

    def _adopt(self, pack: bytes) -> None:
        store = Path(self._sealed.store())
        with storing(store), tempfile.TemporaryDirectory(prefix=".pack-", dir=store.parent) as folder:
            self._sealed.init(folder)
            said = self._sealed.run(["index-pack", "--stdin"], pack, sealed(folder))
            if said.code:
                raise failure("index-pack", said.err)
            for kind in ("*.pack", "*.idx"):  # a pack is there as soon as its index is
                for path in Path(folder, "objects", "pack").glob(kind):
                    path.replace(Path(store, "objects", "pack", path.name))

    def _refuse_name(self, name: str) -> None:
        said = None if name.startswith("-") else self._sealed.git("check-ref-format", f"refs/heads/{name}", fail=False)
        if said is None or said.code:
            raise UsageError(f"{name!r} cannot be the name of a branch", "See `git help check-ref-format`.")


def _refused(repository: str, what: str, said: Said) -> StackctlError:
    lines = [line for line in said.err.splitlines() if line.strip()]
    first = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "")
    return StackctlError(f"{repository}: git {what} failed: {first or 'it said nothing'}")
