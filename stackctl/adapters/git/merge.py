"""Three-way merges of trees in the bare store, and the memory of how conflicts were resolved (git's own `rerere`).

Nothing is checked out: git merges objects, and rerere sees a throw-away folder with the files in conflict alone.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from stackctl.adapters.git.landed import landed
from stackctl.adapters.git.sealed import Sealed, failure, sealed
from stackctl.core.names import Commit, TreeId
from stackctl.core.rebase.merge import Labels, Landable, Notice, Stage, TreeMerge
from stackctl.errors import StackctlError
from stackctl.ports import Files

CONFIG = ("merge.conflictStyle=diff3", "merge.directoryRenames=true", "merge.renameLimit=20000", "rerere.enabled=true")
BASE_MARK = re.compile(rb"^\|\|\|\|\|\|\| [0-9a-f]{4,40}(?=:|\r?$)", re.MULTILINE)
KEPT = re.compile(r"(preimage|postimage)(\.[0-9]+)?")


class GitMerges:
    """`ports.Merges` over `$STACKCTL_HOME/store.git`."""

    def __init__(self, files: Files) -> None:
        self._sealed = Sealed(files)
        self._config = [word for pair in CONFIG for word in ("-c", pair)]

    def merge(self, base: TreeId, ours: TreeId, theirs: TreeId, labels: Labels) -> TreeMerge:
        root = self._commit(base)
        sides = [self._commit(tree, root) for tree in (ours, theirs)]
        said = self._sealed.git(*self._config, "merge-tree", "--write-tree", "-z", "--messages", *sides, fail=False)
        if said.code not in (0, 1) or not said.out:
            raise _too_old(said.err) if "usage:" in said.err else failure("merge-tree", said.err)
        tree, stages, notices = _read(said.out)
        files = dict(self._marked(tree, stages, [side.encode() for side in sides], labels))
        marked: dict[str, bytes | None] = {**files}
        return TreeMerge(self.replace(tree, marked), said.code == 0, stages, notices, files)

    def replace(self, tree: TreeId, files: Mapping[str, bytes | None]) -> TreeId:
        if not files:
            return tree
        listed = self._sealed.git("--literal-pathspecs", "ls-tree", "-r", "-z", tree, "--", *files).out.split(b"\0")
        modes = {_text(line.partition(b"\t")[2]): line[:6].decode() for line in listed if line}
        with self._sealed.index() as env:
            lines = b""
            for path, data in files.items():
                blob = "0" * 40 if data is None else self._blob(data)
                mode = "0" if data is None else modes.get(path, "100644")
                lines += f"{mode} {blob}\t".encode() + _bytes(path) + b"\0"
            self._sealed.git("read-tree", tree, env=env)
            self._sealed.git("update-index", "--add", "-z", "--index-info", stdin=lines, env=env)
            return TreeId(self._sealed.git("write-tree", env=env).out.decode().strip())

    def _blob(self, data: bytes) -> str:
        return self._sealed.git("hash-object", "-w", "--stdin", stdin=data).out.decode().strip()

    def _commit(self, tree: TreeId, *parents: str) -> str:
        named = [word for parent in parents for word in ("-p", parent)]
        return self._sealed.git("commit-tree", *named, "-m", "side", tree).out.decode().strip()

    def _marked(
        self, tree: TreeId, stages: Sequence[Stage], ids: Sequence[bytes], labels: Labels
    ) -> Iterator[tuple[str, bytes]]:
        """Files in conflict that the merged tree holds, with labels that people can read."""
        for path in dict.fromkeys(stage.path for stage in stages):
            said = self._sealed.git("cat-file", "blob", f"{tree}:{path}", fail=False)
            if said.code == 0:
                data = said.out.replace(b"<<<<<<< " + ids[0], b"<<<<<<< " + labels.ours.encode())
                data = data.replace(b">>>>>>> " + ids[1], b">>>>>>> " + labels.theirs.encode())
                yield path, BASE_MARK.sub(b"||||||| " + labels.base.encode().replace(b"\\", b"\\\\"), data)

    def moves(self, old: TreeId, new: TreeId) -> Mapping[str, tuple[str, int]]:
        out = self._sealed.git("diff-tree", "-r", "-z", "-M50%", "-l20000", "--diff-filter=R", old, new).out
        words = iter(out.split(b"\0"))
        found: dict[str, tuple[str, int]] = {}
        for facts in words:
            if facts:
                source, target = next(words), next(words)
                found[_text(source)] = (_text(target), int(facts.rpartition(b" R")[2]))
        return found

    def changes(self, old: TreeId, new: TreeId) -> Mapping[str, tuple[str, str] | None]:
        words = self._sealed.git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new).out.split(
            b"\0"
        )
        found: dict[str, tuple[str, str] | None] = {}
        for facts, path in zip(words[0:-1:2], words[1::2], strict=True):
            _, mode, _, blob, kind = facts.decode().split(" ")
            found[_text(path)] = None if kind == "D" else (mode, blob)
        return found

    def landed(self, url: str, old: Commit, new: Commit, queue: Mapping[str, Landable]) -> Mapping[str, Commit]:
        return landed(self._sealed, url, (old, new), queue)

    def recall(self, merged: TreeMerge, memory: Mapping[str, bytes]) -> Mapping[str, bytes]:
        with _Memory(self._sealed, self._config, merged, memory) as work:
            work.rerere()
            remaining = set(work.rerere("remaining").split("\0"))
            return {path: work.read(path) for path in work.paths if path not in remaining}

    def remember(
        self, merged: TreeMerge, resolved: Mapping[str, bytes], memory: Mapping[str, bytes]
    ) -> Mapping[str, bytes]:
        with _Memory(self._sealed, self._config, merged, {}) as work:
            work.rerere()
            for path in work.paths:
                if path in resolved:
                    work.write(path, resolved[path])
            work.rerere()
            return {**memory, **work.kept(whole=True)}


class _Memory:
    """A repository of its own that lives for one question: index and folder hold the paths in conflict."""

    def __init__(self, git: Sealed, config: Sequence[str], merged: TreeMerge, memory: Mapping[str, bytes]) -> None:
        self._git, self._config = git, config
        self._merged, self._memory = merged, memory
        whole = {path for path in merged.files if len([s for s in merged.stages if s.path == path]) > 1}
        self.paths = tuple(sorted(whole))

    def __enter__(self) -> _Memory:
        self._folder = tempfile.TemporaryDirectory(prefix="stackctl-rerere-")
        self._work, self._home = Path(self._folder.name, "work"), Path(self._folder.name, "repo.git")
        try:
            self._work.mkdir()
            self._git.init(str(self._home))
            for name, data in self._memory.items():
                _put(self._home / "rr-cache", name, data)
            for path in self.paths:
                self.write(path, self._merged.files[path])
            index = b"".join(
                f"{stage.mode} {stage.blob} {stage.number}\t".encode() + _bytes(stage.path) + b"\0"
                for stage in self._merged.stages
                if stage.path in self.paths
            )
            self._run(["update-index", "-z", "--index-info"], index)
        except BaseException:
            self._folder.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def rerere(self, *args: str) -> str:
        return self._run(["rerere", *args], b"").replace("\n", "\0")

    def read(self, path: str) -> bytes:
        return (self._work / path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        _put(self._work, path, data)

    def kept(self, *, whole: bool) -> dict[str, bytes]:
        """What rerere knows now, as `ID/preimage` and `ID/postimage`; `whole`: only what has both."""
        cache = self._home / "rr-cache"
        files = [path for path in sorted(cache.glob("*/*")) if KEPT.fullmatch(path.name)]
        found = {path.relative_to(cache).as_posix(): path.read_bytes() for path in files}
        return {
            name: data for name, data in found.items() if not whole or name.replace("preimage", "postimage") in found
        }

    def _run(self, args: Sequence[str], stdin: bytes) -> str:
        env = {
            **sealed(str(self._home)),
            "GIT_WORK_TREE": str(self._work),
            "GIT_OBJECT_DIRECTORY": str(Path(self._git.store(), "objects")),
        }
        said = self._git.run(["-C", str(self._work), *self._config, "-c", "core.bare=false", *args], stdin, env)
        if said.code:
            raise failure(args[0], said.err)
        return said.out.decode("utf-8", "surrogateescape")


def _read(out: bytes) -> tuple[TreeId, tuple[Stage, ...], tuple[Notice, ...]]:
    """TREE NUL, stages each with a NUL, a NUL, then notices: number of paths, the paths, kind, words."""
    words = out.split(b"\0")
    at, stages, notices = 1, list[Stage](), list[Notice]()
    while at < len(words) and words[at]:
        facts, _, path = words[at].partition(b"\t")
        mode, blob, number = facts.decode().split()
        stages.append(Stage(_text(path), int(number), mode, blob))
        at += 1
    at += 1
    while at < len(words) and words[at].strip():
        end = at + 1 + int(words[at])
        paths = tuple(_text(path) for path in words[at + 1 : end])
        notices.append(Notice(_text(words[end]), paths, _text(words[end + 1]).strip()))
        at = end + 2
    return TreeId(words[0].decode()), tuple(stages), tuple(notices)


def _too_old(said: str) -> StackctlError:
    return StackctlError(f"this git cannot merge trees: {said.splitlines()[0]}", "Install git 2.38 or newer.")


def _put(folder: Path, name: str, data: bytes) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
