"""What stackctl asks of the outside, in our words: one Protocol for each outside thing.

Adapters implement these and decide nothing; tests/fakes.py implements them for tests. Commands take a `Ports`.
Every call that can wait has a timeout in seconds. Errors are StackctlError with a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from stackctl.core.authoring.worktree import Merged as Merged
from stackctl.core.authoring.worktree import Snapshot as Snapshot
from stackctl.core.base.values import TreeFile as TreeFile
from stackctl.core.names import Commit, TreeId
from stackctl.core.stack.resolved import HostSpec
from stackctl.ports_git import Revisions as Revisions
from stackctl.ports_import import Branches as Branches
from stackctl.ports_import import Scratch as Scratch
from stackctl.ports_package import Templates as Templates

if TYPE_CHECKING:  # commands that use these import them
    from stackctl.core.rebase.merge import Labels, Landable, TreeMerge
    from stackctl.core.verify.wire import Burst, BurstResult, HttpAnswer, HttpRequest


@dataclass(frozen=True)
class Completed:
    """A process that ended. `code` is negative for a signal."""

    argv: tuple[str, ...]
    code: int
    stdout: bytes
    stderr: bytes

    @property
    def ok(self) -> bool:
        return self.code == 0


class Process(Protocol):
    """Programs of this machine."""

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float | None = None,
    ) -> Completed:
        """Run to its end; `env` replaces the environment when given. A timeout kills the group and raises."""
        ...


class Files(Protocol):
    """Files of this machine. Paths are absolute."""

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        """Whole or not at all: a temporary file beside it, then a rename. Makes the folder.

        Without a `mode` a file keeps the one it has; a new one gets 0644.
        """
        ...

    def append_line(self, path: str, line: str) -> None:
        """One line and its end, on the disk (fsync) when this returns. Makes the folder."""
        ...

    def exists(self, path: str) -> bool: ...

    def is_dir(self, path: str) -> bool: ...

    def is_executable(self, path: str) -> bool: ...

    def is_link(self, path: str) -> bool: ...

    def mode(self, path: str) -> int: ...

    def list(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; empty when there is none."""
        ...

    def walk(self, path: str) -> tuple[str, ...]:
        """All regular files below a folder, as sorted relative POSIX paths."""
        ...

    def remove(self, path: str) -> None:
        """A file or a whole folder; nothing when it is not there."""
        ...

    def home(self) -> str:
        """$STACKCTL_HOME or its default: stores, wheels, environments; all may be deleted."""
        ...

    def cwd(self) -> str: ...


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class TreeEntry:
    path: str
    mode: str
    blob: str
    size: int


@dataclass(frozen=True)
class Applied:
    """What one `git apply --cached -v` process said. `tree` is None when it refused; then nothing changed."""

    tree: TreeId | None
    output: str


class Git(Protocol):
    """The bare store in $STACKCTL_HOME and git as a plumbing runner, sealed from the user's configuration."""

    def has_tree(self, tree: TreeId) -> bool: ...

    def write_tree(self, files: Iterable[TreeFile]) -> TreeId: ...

    def fetch_commit(self, url: str, ref: str, commit: Commit) -> TreeId:
        """The tree of `commit`, fetched by `ref` (then by the id itself) unless the store has it already."""
        ...

    def tree_of_commit(self, commit: Commit) -> TreeId | None:
        """Without any network; None when the store lacks it."""
        ...

    def apply(self, base: TreeId, patches: Sequence[tuple[bytes, int]]) -> Applied:
        """(bytes of a patch, strip level) in order onto `base`: one process for each run of equal strip levels."""
        ...

    def change(self, tree: TreeId, files: Mapping[str, TreeFile | None]) -> TreeId:
        """The tree with these files, by path, in place of its own; None takes one away."""
        ...

    def read(self, tree: TreeId, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Contents of those paths that are in the tree."""
        ...

    def read_blobs(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Contents by their ids, as a listing has them: quicker than by paths, which git looks up one by one."""
        ...

    def list(self, tree: TreeId) -> tuple[TreeEntry, ...]: ...

    def words(self, tree: TreeId, words: Collection[str]) -> frozenset[str]:
        """Those of the words (letters, digits, `_`) that a Python file of the tree has."""
        ...

    def diff(self, old: TreeId, new: TreeId, *, stat: bool = False) -> str: ...


class WorkTrees(Protocol):
    """Git work trees of their own in which a person edits; what their git does there never reaches the store."""

    def make(self, folder: str, base: TreeId, shown: TreeId, branch: str, title: str) -> None:
        """One commit of `base` on `branch`, and the files of `shown` as uncommitted edits on it."""
        ...

    def lend(self, folder: str) -> None:
        """Point the work tree to the objects of the store, which may have moved."""
        ...

    def merge(self, folder: str, patch: bytes, strip: int, paths: Sequence[str]) -> tuple[Merged, ...]:
        """Put into the work tree what can be put of a patch that does not apply, file by file."""
        ...

    def snapshot(self, folder: str, base: TreeId) -> Snapshot:
        """Writes the work tree into the store. Files that `base` has are in it, whatever is ignored."""
        ...

    def move(self, old: str, new: str) -> None:
        """Rename a folder, at once or not at all."""
        ...

    def author(self) -> str | None:
        """`Name <mail>`, as the user's own git would sign; None when it does not know."""
        ...


class Merges(Protocol):
    """Merges of trees in the store, and git's memory of resolved conflicts (`ID/preimage`, `ID/postimage`)."""

    def merge(self, base: TreeId, ours: TreeId, theirs: TreeId, labels: Labels) -> TreeMerge: ...

    def changes(self, old: TreeId, new: TreeId) -> Mapping[str, tuple[str, str] | None]:
        """Mode and blob of each path that differs, as `new` has it; None where it has not."""
        ...

    def moves(self, old: TreeId, new: TreeId) -> Mapping[str, tuple[str, int]]:
        """Old path -> new path and how much is alike, in percent."""
        ...

    def replace(self, tree: TreeId, files: Mapping[str, bytes | None]) -> TreeId:
        """The tree with other contents of these files; None takes one away."""
        ...

    def landed(self, url: str, old: Commit, new: Commit, queue: Mapping[str, Landable]) -> Mapping[str, Commit]:
        """The commits after `old`, up to `new`, that are patches of a queue; the history is fetched when it lacks."""
        ...

    def recall(self, merged: TreeMerge, memory: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Files of a conflict that were resolved before, as they were resolved then."""
        ...

    def remember(
        self, merged: TreeMerge, resolved: Mapping[str, bytes], memory: Mapping[str, bytes]
    ) -> Mapping[str, bytes]:
        """The memory with what was made of a conflict."""
        ...


class Index(Protocol):
    """A package index, asked through pip as the user has configured it."""

    def download(self, requirement: str, python_version: str | None = None) -> bytes | None:
        """The wheel's bytes, for CPython `python_version` (default: our own).

        None when the index has no such wheel; raises with pip's last words when it cannot be asked.
        """
        ...


class Host(Protocol):
    """One machine that serves, `local` or over SSH, the same to all callers. `~/` begins a path in its home."""

    spec: HostSpec

    def run(self, argv: Sequence[str], *, input: bytes = b"", timeout: float = 60.0) -> Completed:
        """A program there, quoted safely. Raises StackctlError, naming the host, when it cannot be reached."""
        ...

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Whole or not at all; makes the folder."""
        ...

    def get(self, path: str) -> bytes | None:
        """None when it is not there."""
        ...

    def start_detached(self, argv: Sequence[str]) -> None:
        """A program in a session of its own, stdin closed, that outlives this client and its connection."""
        ...

    def close(self) -> None: ...


class Hosts(Protocol):
    def open(self, spec: HostSpec) -> Host: ...


class Http(Protocol):
    def fetch(self, request: HttpRequest, timeout: float) -> HttpAnswer:
        """One request, whole answer. A failure to connect is an answer with status None and the error's text."""
        ...

    def burst(self, burst: Burst, on_progress: Progress | None = None) -> BurstResult:
        """Many streams at once; every byte with its time; nothing is judged here."""
        ...


class Progress(Protocol):
    """What a command says while it works; on a terminal it moves, in a pipe it is plain lines, with --json stderr."""

    def step(self, text: str) -> AbstractContextManager[None]:
        """`with progress.step('fetching sglang==0.5.15'):` shows it running, then done with its seconds, or failed."""
        ...

    def say(self, text: str) -> None:
        """One line that stays."""
        ...

    def live(self, text: str) -> None:
        """A line that the next one replaces; in a pipe at most one every few seconds."""
        ...


class Who(Protocol):
    """Who asks, for holds and records."""

    def user(self) -> str:
        """`name@machine`"""
        ...

    def pid(self) -> int: ...

    def alive(self, pid: int) -> bool: ...

    def env(self, name: str) -> str | None:
        """A variable of the user's environment."""
        ...

    def environment(self) -> Mapping[str, str]:
        """All of the user's environment."""
        ...

    def python(self) -> str:
        """The interpreter that runs stackctl."""
        ...

    def confirm(self, question: str) -> bool | None:
        """Ask on the terminal; None when there is none. --yes answers True."""
        ...


@dataclass(frozen=True)
class Ports:
    git: Git
    revisions: Revisions
    branches: Branches
    scratch: Callable[[], AbstractContextManager[Scratch]]
    merges: Merges
    index: Index
    hosts: Hosts
    http: Http
    process: Process
    files: Files
    clock: Clock
    progress: Progress
    who: Who
    templates: Templates
    work_trees: WorkTrees
