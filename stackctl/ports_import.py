"""What an import asks of the outside, beside what ports.py names: repositories of the user, and a place to try things.

`Ports` holds these too. Here is no default and no decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from stackctl.core.base.values import TreeFile
from stackctl.core.names import Commit


@dataclass(frozen=True)
class RawCommit:
    commit: Commit
    data: bytes  # the object, as git keeps it


@dataclass(frozen=True)
class RawRange:
    """`commits` are those of the head that the base has not, oldest first; `base` is the first one's parent."""

    base: RawCommit
    commits: tuple[RawCommit, ...]


class Branches(Protocol):
    """Repositories of the user: read without a trace, written only by a branch that was not there."""

    def read(self, repository: str, base: str, head: str) -> RawRange:
        """Raises UsageError for what is no repository or no commit. Their trees are in the store then."""
        ...

    def find(self, repository: str, revision: str) -> RawCommit | None: ...

    def put(self, repository: str, name: str, commits: Sequence[bytes], parent: Commit | None) -> bool:
        """Objects in order, each the parent of the next. False: the very branch is there already."""
        ...


@dataclass(frozen=True)
class Ran:
    """A program that ended. `code` is negative for a signal."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def words(self) -> str:
        """Its last line."""
        lines = (self.stderr.strip() or self.stdout.strip()).decode("utf-8", "replace").splitlines()
        return lines[-1] if lines else "it said nothing"


class Scratch(Protocol):
    """A folder of this machine that is thrown away: a tree to run foreign programs in."""

    @property
    def root(self) -> str: ...

    def put(self, files: Iterable[TreeFile]) -> None: ...

    def keep(self, name: str, data: bytes) -> str:
        """The absolute path of a file beside the tree, for a program to read."""
        ...

    def files(self) -> Iterable[TreeFile]:
        """What is there now; no bytecode."""
        ...

    def run(self, argv: Sequence[str], *, cwd: str, input: bytes = b"", timeout: float = 60.0) -> Ran:
        """`cwd` below the folder. A bare environment, nothing outside to write to, no network: as far as `walls`."""
        ...

    def walls(self) -> tuple[str, ...]:
        """Which of `network` and `files` are really shut off here."""
        ...
