"""The bare store and git, used as plumbing only.

Sealed: git starts with an empty environment, so no configuration, hook, index, identity or proxy of the user has a
say; only a fetch sees what a network needs. There is no work tree, and nothing is ever checked out. Every operation
has an index of its own, so that several processes may use the store at once. Nothing is decided here.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from stackctl.core.names import Commit, TreeId
from stackctl.errors import StackctlError
from stackctl.ports import Applied, Files, TreeEntry, TreeFile

CONFIG = (
    "core.hooksPath=/dev/null",
    "core.autocrlf=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.quotePath=true",
    "apply.whitespace=nowarn",
    "apply.ignoreWhitespace=no",
    "commit.gpgsign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.unpackLimit=1",  # one pack, moved into place whole: a killed fetch leaves no half commit
    "fastimport.unpackLimit=0",  # always a pack
    "core.compression=1",
    "core.fsyncMethod=batch",
    "protocol.version=2",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
)
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "stackctl"), ("EMAIL", "stackctl@localhost"), ("DATE", "2000-01-01T00:00:00+00:00"))
}
NETWORK = (
    "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
)  # fmt: skip
ID = re.compile(r"[0-9a-f]{40}")
REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./@#-]*")
URL = re.compile(r"((https://|ssh://|file:///|/)[^\s-]|[A-Za-z0-9_.]+@[A-Za-z0-9][A-Za-z0-9.-]*:[^\s-])[^\0-\x1f]*")
CREDENTIALS = re.compile(r"(https?://|ssh://)[^/@\s]+@")
DIFF = ("-r", "--full-index", "--no-renames", "--diff-algorithm=myers", "--no-ext-diff", "--no-textconv", "--no-color")
TROUBLE = (
    "No space left", "Read-only file system", "Permission denied", "insufficient permission", "unable to create",
    "Not a directory", "Out of diskspace",
)  # fmt: skip
ELSEWHERE = "Is the disk full or read-only, or a file in its place? $STACKCTL_HOME names another folder for the store."
AWAY = ("Could not resolve", "unable to access", "Could not read from remote", "timed out")


@dataclass(frozen=True)
class _Said:
    code: int
    out: bytes
    err: str


class GitStore:
    """`ports.Git` over `$STACKCTL_HOME/store.git`, which is made on first use."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def has_tree(self, tree: TreeId) -> bool:
        return self._git("cat-file", "-e", f"{tree}^{{tree}}", fail=False).code == 0

    def write_tree(self, files: Iterable[TreeFile]) -> TreeId:
        """Quick when the store has the contents already; else one pack takes them all."""
        listed = [(file, _blob_id(file.data)) for file in files]
        index = b"".join(f"{file.mode} {blob}\t".encode() + _path(file.path) + b"\0" for file, blob in listed)
        with self._index() as env:
            self._git("update-index", "-z", "--index-info", stdin=index, env=env)
            said = self._git("write-tree", env=env, fail=False)
            if said.code:  # it names objects that the store lacks
                self._take_in(_blob_stream(file.data for file, _ in listed))
                said = self._git("write-tree", env=env)
        return TreeId(said.out.decode().strip())

    def _take_in(self, stream: bytes) -> None:
        """One pack, made aside and moved in whole: neither a full disk nor Ctrl-C leaves a piece of it."""
        store = Path(self._store())
        with _storing(store), tempfile.TemporaryDirectory(prefix=".pack-", dir=store.parent) as folder:
            self._init(folder)
            said = self._run(["fast-import", "--quiet", "--done", "--depth=0"], stream, _sealed(folder))
            if said.code:
                raise _failure("fast-import", said.err)
            for kind in ("*.pack", "*.idx"):  # a pack is there as soon as its index is
                for path in Path(folder, "objects", "pack").glob(kind):
                    path.replace(Path(store, "objects", "pack", path.name))

    def fetch_commit(self, url: str, ref: str, commit: Commit) -> TreeId:
        _refuse_unsafe(url, ref, commit)
        tree = self.tree_of_commit(commit)
        said = ""
        # the commit alone, then the tip of the ref, then all of the ref from a server that gives no commits by id
        for options, wanted in ((("--depth=1",), commit), (("--depth=1",), ref), ((), ref)):
            if tree is None:
                said = self._fetch(url, wanted, options)
                tree = self.tree_of_commit(commit)
        if tree is None:
            raise _not_fetched(url, ref, commit, said)
        return tree

    def tree_of_commit(self, commit: Commit) -> TreeId | None:
        if not ID.fullmatch(commit):
            return None
        said = self._git("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}", fail=False)
        return TreeId(said.out.decode().strip()) if said.code == 0 else None

    def apply(self, base: TreeId, patches: Sequence[tuple[bytes, int]]) -> Applied:
        output = []
        with self._index() as env, tempfile.TemporaryDirectory(prefix="stackctl-apply-") as folder:
            self._git("read-tree", base, env=env)
            for strip, run in groupby(enumerate(patches), key=lambda item: item[1][1]):
                paths = [_written(Path(folder, f"{number}.patch"), data) for number, (data, _) in run]
                said = self._git(
                    "apply", "--cached", "-v", "--whitespace=nowarn", f"-p{strip}", *paths, env=env, fail=False
                )
                output.append(said.err)
                if said.code:
                    return Applied(None, "\n".join(output))
            tree = self._git("write-tree", env=env).out.decode().strip()
        return Applied(TreeId(tree), "\n".join(output))

    def read(self, tree: TreeId, paths: Sequence[str]) -> Mapping[str, bytes]:
        asked = [path for path in dict.fromkeys(paths) if "\n" not in path]
        stdin = b"".join(f"{tree}:".encode() + _path(path) + b"\n" for path in asked)
        return dict(_blobs(asked, self._git("cat-file", "--batch", stdin=stdin).out))

    def list(self, tree: TreeId) -> tuple[TreeEntry, ...]:
        out = self._git("ls-tree", "-r", "-z", "--long", tree).out
        return tuple(_entry(line) for line in out.split(b"\0") if line)

    def diff(self, old: TreeId, new: TreeId, *, stat: bool = False) -> str:
        shape = ("--stat",) if stat else ("-p", "-U3")
        out = self._git("diff-tree", *DIFF, *shape, old, new).out
        return out.decode("utf-8", "surrogateescape")

    # --- running git

    def _git(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, fail: bool = True) -> _Said:
        store = self._store()
        said = self._run(list(args), stdin, {**_sealed(store), **(env or {})})
        if fail and said.code:
            raise _failure(args[0], said.err)
        return said

    def _run(self, args: Sequence[str], stdin: bytes, env: Mapping[str, str]) -> _Said:
        configured = [word for pair in CONFIG for word in ("-c", pair)]
        # `env -i`: GitPython always adds the caller's environment, and the seal must not depend on what is in it
        words = ["env", "-i", *(f"{key}={value}" for key, value in env.items()), "git", *configured, *args]
        with tempfile.TemporaryFile() as istream:
            istream.write(stdin)
            istream.seek(0)
            # the handle ends its process when it is let go, so it must outlive the talk
            handle = _vendor().Git().execute(words, istream=istream, as_process=True, start_new_session=True)
            process = handle.proc
            try:
                out, err = process.communicate()
            except BaseException:  # Ctrl-C must leave no git behind, nor the helpers that it has started
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                process.communicate()
                raise
        return _Said(process.returncode, out, err.decode("utf-8", "surrogateescape"))

    def _fetch(self, url: str, wanted: str, options: Sequence[str]) -> str:
        """One attempt. Refs and shallow marks of it live in a throw-away folder; only objects reach the store."""
        store = self._store()
        with tempfile.TemporaryDirectory(prefix="stackctl-fetch-") as folder:
            scratch = str(Path(folder, "repo.git"))
            self._init(scratch)
            env = {
                **_sealed(scratch),
                **{name: os.environ[name] for name in NETWORK if name in os.environ},
                "GIT_OBJECT_DIRECTORY": str(Path(store, "objects")),
                "GIT_ALLOW_PROTOCOL": "https:ssh:file",
                "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15",
            }
            quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
            return self._run(["fetch", *quiet, *options, "--", url, wanted], b"", env).err

    @contextmanager
    def _index(self) -> Iterator[Mapping[str, str]]:
        with tempfile.TemporaryDirectory(prefix="stackctl-index-") as folder:
            yield {"GIT_INDEX_FILE": str(Path(folder, "index"))}

    def _store(self) -> str:
        """Made beside its place and renamed into it, so that two processes may try at once."""
        store = Path(self._files.home(), "store.git")
        if not store.is_dir():
            scratch = None
            try:
                store.parent.mkdir(parents=True, exist_ok=True)
                scratch = tempfile.mkdtemp(prefix=".store.", dir=store.parent)
                self._init(scratch)
                Path(scratch).rename(store)
            except OSError as error:
                if not store.is_dir():
                    raise StackctlError(
                        f"cannot make the store {store}: {error.strerror or error}", ELSEWHERE
                    ) from error
            finally:
                if scratch:
                    shutil.rmtree(scratch, ignore_errors=True)
        return str(store)

    def _init(self, folder: str) -> None:
        said = self._run(["init", "--quiet", "--bare", "--template=", folder], b"", _sealed(folder))
        if said.code:
            raise _failure("init", said.err)
        trusted = "[safe]\n\tdirectory = *\n"  # a base may be another user's repository; its hooks do not run
        Path(folder, "sealed.gitconfig").write_text(trusted, "utf-8")


def _vendor() -> Any:
    try:
        import git
    except ImportError as error:  # GitPython looks for the program when it is imported
        raise StackctlError("git is not installed, or not on the PATH", "Install git 2.30 or newer.") from error
    return git


def _sealed(git_dir: str) -> dict[str, str]:
    return {
        **IDENTITY,
        "PATH": os.environ.get("PATH", os.defpath),
        "TMPDIR": tempfile.gettempdir(),
        "HOME": git_dir,
        "LC_ALL": "C",
        "GIT_DIR": git_dir,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(Path(git_dir, "sealed.gitconfig")),
        "GIT_CEILING_DIRECTORIES": str(Path(git_dir).parent),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }


@contextmanager
def _storing(store: Path) -> Iterator[None]:
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


def _blobs(asked: Sequence[str], out: bytes) -> Iterator[tuple[str, bytes]]:
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


def _entry(line: bytes) -> TreeEntry:
    facts, _, path = line.partition(b"\t")
    mode, _, blob, size = facts.decode().split()
    return TreeEntry(path.decode("utf-8", "surrogateescape"), mode, blob, 0 if size == "-" else int(size))


def _written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def _refuse_unsafe(url: str, ref: str, commit: str) -> None:
    if not URL.fullmatch(url):
        raise StackctlError(
            f"{url!r} is no URL that stackctl fetches from", "Use https://, ssh://, file:/// or a path."
        )
    if not REF.fullmatch(ref) or ".." in ref:
        raise StackctlError(f"{ref!r} is no name of a branch or tag", "Write it as `git ls-remote` shows it.")
    if not ID.fullmatch(commit):
        raise StackctlError(f"{commit!r} is no full commit id", "Pin all 40 hex digits.")


def _not_fetched(url: str, ref: str, commit: str, said: str) -> StackctlError:
    url, said = (CREDENTIALS.sub(r"\1***@", text) for text in (url, said))
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    first = next((line for line in lines if line.startswith(("fatal:", "error:", "ssh:"))), lines[-1] if lines else "")
    if any(word in said for word in AWAY):
        message = f"cannot reach {url} for commit {commit}: {first}"
        return StackctlError(message, "Once fetched, a commit is kept in $STACKCTL_HOME and needs no network.")
    if any(word in said for word in TROUBLE):
        return _failure("fetch", said)
    hint = f"Look with `git ls-remote {url} {ref}`: is the id right, and is it pushed?"
    return StackctlError(
        f"{url} has no commit {commit}, neither at {ref} nor by its id" + (f" ({first})" if first else ""), hint
    )


def _failure(what: str, said: str) -> StackctlError:
    text = next((line for line in said.splitlines() if line.startswith("fatal:")), said.strip()) or "it said nothing"
    hint = None
    if any(word in text for word in TROUBLE):
        hint = ELSEWHERE
    return StackctlError(f"git {what} failed in the store: {text}", hint)
