"""The bare store: trees and blobs, written, read, patched, compared. There is no work tree, and nothing is ever
checked out. Every operation has an index of its own, so that several processes may use the store at once. Nothing is
decided here.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from stackctl.adapters.git.fetch import ID, fetch, not_fetched, refuse_unsafe
from stackctl.adapters.git.sealed import ELSEWHERE, Sealed, failure, sealed
from stackctl.core.names import Commit, TreeId
from stackctl.errors import StackctlError
from stackctl.ports import Applied, Files, TreeEntry, TreeFile

DIFF = ("-r", "--full-index", "--no-renames", "--diff-algorithm=myers", "--no-ext-diff", "--no-textconv", "--no-color")


class GitStore:
    """`ports.Git` over `$STACKCTL_HOME/store.git`, which is made on first use."""

    def __init__(self, files: Files) -> None:
        self._sealed = Sealed(files)

    def has_tree(self, tree: TreeId) -> bool:
        return self._sealed.git("cat-file", "-e", f"{tree}^{{tree}}", fail=False).code == 0

    def write_tree(self, files: Iterable[TreeFile]) -> TreeId:
        """Quick when the store has the contents already; else one pack takes them all."""
        listed = [(file, _blob_id(file.data)) for file in files]
        index = b"".join(f"{file.mode} {blob}\t".encode() + _path(file.path) + b"\0" for file, blob in listed)
        with self._sealed.index() as env:
            self._sealed.git("update-index", "-z", "--index-info", stdin=index, env=env)
            said = self._sealed.git("write-tree", env=env, fail=False)
            if said.code:  # it names objects that the store lacks
                self._take_in(_blob_stream(file.data for file, _ in listed))
                said = self._sealed.git("write-tree", env=env)
        return TreeId(said.out.decode().strip())

    def change(self, tree: TreeId, files: Mapping[str, TreeFile | None]) -> TreeId:
        gone = "0" * 40
        with self._sealed.index() as env:
            self._sealed.git("read-tree", tree, env=env)
            written = [file for file in files.values() if file is not None]
            if written:
                self._take_in(_blob_stream(file.data for file in written))
            lines = [f"0 {gone}\t".encode() + _path(path) + b"\0" for path in files]  # a folder may become a file
            lines += [f"{one.mode} {_blob_id(one.data)}\t".encode() + _path(one.path) + b"\0" for one in written]
            self._sealed.git("update-index", "-z", "--index-info", stdin=b"".join(lines), env=env)
            return TreeId(self._sealed.git("write-tree", env=env).out.decode().strip())

    def _take_in(self, stream: bytes) -> None:
        """One pack, made aside and moved in whole: neither a full disk nor Ctrl-C leaves a piece of it."""
        store = Path(self._sealed.store())
        with storing(store), tempfile.TemporaryDirectory(prefix=".pack-", dir=store.parent) as folder:
            self._sealed.init(folder)
            said = self._sealed.run(["fast-import", "--quiet", "--done", "--depth=0"], stream, sealed(folder))
            if said.code:
                raise failure("fast-import", said.err)
            for kind in ("*.pack", "*.idx"):  # a pack is there as soon as its index is
                for path in Path(folder, "objects", "pack").glob(kind):
                    path.replace(Path(store, "objects", "pack", path.name))

    def fetch_commit(self, url: str, ref: str, commit: Commit) -> TreeId:
        refuse_unsafe(url, ref, commit)
        tree = self.tree_of_commit(commit)
        said = ""
        # the commit alone, then the tip of the ref, then all of the ref from a server that gives no commits by id
        for options, wanted in ((("--depth=1",), commit), (("--depth=1",), ref), ((), ref)):
            if tree is None:
                said = fetch(self._sealed, url, wanted, options)
                tree = self.tree_of_commit(commit)
        if tree is None:
            raise not_fetched(url, ref, commit, said)
        return tree

    def tree_of_commit(self, commit: Commit) -> TreeId | None:
        if not ID.fullmatch(commit):
            return None
        said = self._sealed.git("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}", fail=False)
        return TreeId(said.out.decode().strip()) if said.code == 0 else None

    def apply(self, base: TreeId, patches: Sequence[tuple[bytes, int]]) -> Applied:
        output = []
        with self._sealed.index() as env, tempfile.TemporaryDirectory(prefix="stackctl-apply-") as folder:
            self._sealed.git("read-tree", base, env=env)
            for strip, run in groupby(enumerate(patches), key=lambda item: item[1][1]):
                paths = [_written(Path(folder, f"{number}.patch"), data) for number, (data, _) in run]
                said = self._sealed.git(
                    "apply", "--cached", "-v", "--whitespace=nowarn", f"-p{strip}", *paths, env=env, fail=False
                )
                output.append(said.err)
                if said.code:
                    return Applied(None, "\n".join(output))
            tree = self._sealed.git("write-tree", env=env).out.decode().strip()
        return Applied(TreeId(tree), "\n".join(output))

    def read(self, tree: TreeId, paths: Sequence[str]) -> Mapping[str, bytes]:
        asked = [path for path in dict.fromkeys(paths) if "\n" not in path]
        stdin = b"".join(f"{tree}:".encode() + _path(path) + b"\n" for path in asked)
        return dict(blobs(asked, self._sealed.git("cat-file", "--batch", stdin=stdin).out))

    def read_blobs(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        asked = list(dict.fromkeys(ids))
        stdin = "".join(f"{blob}\n" for blob in asked).encode()
        return dict(blobs(asked, self._sealed.git("cat-file", "--batch", stdin=stdin).out))

    def list(self, tree: TreeId) -> tuple[TreeEntry, ...]:
        out = self._sealed.git("ls-tree", "-r", "-z", "--long", tree).out
        return tuple(tree_entry(line) for line in out.split(b"\0") if line)

    def words(self, tree: TreeId, words: Collection[str]) -> frozenset[str]:
        asked = [option for word in sorted(words) for option in ("-e", word)]
        if not asked:
            return frozenset()
        said = self._sealed.git("grep", "-h", "-o", "-w", "-F", *asked, tree, "--", "*.py", fail=False)
        if said.code > 1:  # 1: none is there
            raise failure("grep", said.err)
        return frozenset(said.out.decode().split())

    def diff(self, old: TreeId, new: TreeId, *, stat: bool = False) -> str:
        shape = ("--stat",) if stat else ("-p", "-U3")
        out = self._sealed.git("diff-tree", *DIFF, *shape, old, new).out
        return out.decode("utf-8", "surrogateescape")


@contextmanager
def storing(store: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StackctlError(f"cannot write below {store.parent}: {error.strerror or error}", ELSEWHERE) from error


def _path(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _blob_stream(contents: Iterable[bytes]) -> bytes:
    return b"".join(b"blob\ndata %d\n%s\n" % (len(data), data) for data in contents) + b"done\n"


def blobs(asked: Sequence[str], out: bytes) -> Iterator[tuple[str, bytes]]:
    """Pairs up the answers of `cat-file --batch`: `ID blob SIZE`, the bytes, a newline; or `NAME missing`."""
    at = 0
    for path in asked:
        end = out.index(b"\n", at)
        words = out[at:end].rsplit(b" ", 2)
        at = end + 1
        if words[-1] == b"missing":
            continue
        size = int(words[-1])
        if words[-2] == b"blob":
            yield path, out[at : at + size]
        at += size + 1


def tree_entry(line: bytes) -> TreeEntry:
    facts, _, path = line.partition(b"\t")
    mode, _, blob, size = facts.decode().split()
    return TreeEntry(path.decode("utf-8", "surrogateescape"), mode, blob, 0 if size == "-" else int(size))


def _written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)
