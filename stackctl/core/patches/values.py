"""Values of a parsed patch and of a composed tree. Parsing is in parse.py, applying in apply.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from stackctl.core.names import SGLANG, Digest, PatchName, TreeId
from stackctl.core.patches.faults import Fault


@dataclass(frozen=True)
class Header:
    """The mail header and message of a patch file; None where the file does not say.

    `lines`: where each trailer begins in the patch file. `misplaced`: keys of trailers, and their lines, where nobody
    reads them. `end`: the line before which one more trailer belongs. Two headers that say the same are equal.
    """

    subject: str | None
    author: str | None
    date: str | None
    body: str
    trailers: tuple[tuple[str, str], ...] = ()
    lines: tuple[int, ...] = field(default=(), compare=False)
    misplaced: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    end: int = field(default=1, compare=False)

    def trailer(self, key: str) -> tuple[str, ...]:
        return tuple(value for value, _ in self.places(key))

    def places(self, key: str) -> tuple[tuple[str, int | None], ...]:
        """Values of the key, each with its line in the patch file."""
        lines = self.lines or (None,) * len(self.trailers)
        return tuple(
            (value, line) for (k, value), line in zip(self.trailers, lines, strict=True) if k.lower() == key.lower()
        )


@dataclass(frozen=True)
class Hunk:
    """`line` is the 1-based line of its @@ in the patch file.

    `lines` keep their first byte (space, -, +) and their line end; one without an end has the mark
    `\\ No newline at end of file` in the patch. `numbers` are their lines in the patch file.
    """

    line: int
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[bytes, ...]
    numbers: tuple[int, ...] = ()

    @cached_property
    def old_lines(self) -> list[bytes]:
        """What must be there: context and removed lines, without their first byte."""
        return [line[1:] for line in self.lines if not line.startswith(b"+")]


@dataclass(frozen=True)
class FilePatch:
    """One file section. old None: created; new None: deleted. Paths are of the tree (strip level taken off).

    `line` is the first line of the patch file that holds the name; `mode_line` the one that gives a new mode.
    """

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]
    old_mode: str | None = None
    new_mode: str | None = None
    rename: bool = False
    copy: bool = False
    line: int = 1
    mode_line: int | None = None

    @property
    def path(self) -> str:
        return self.new or self.old or ""

    @property
    def added(self) -> int:
        return sum(line.startswith(b"+") for hunk in self.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
        return sum(line.startswith(b"-") for hunk in self.hunks for line in hunk.lines)


@dataclass(frozen=True)
class Patch:
    name: PatchName
    file: str
    data: bytes
    sha256: Digest
    header: Header
    files: tuple[FilePatch, ...]
    strip: int = 1
    warnings: tuple[str, ...] = ()  # kinds: no-author, no-date, no-index-line, misplaced-trailer

    @property
    def source(self) -> str:
        """The tree that it is for."""
        return source_of(self.header)


def source_of(header: Header) -> str:
    return next(iter(header.trailer("Source")), SGLANG)


@dataclass(frozen=True)
class Offset:
    """A hunk that landed away from its stated line."""

    patch: PatchName
    file: str
    hunk: int  # counts from 1
    at: int  # line of the new file
    offset: int


@dataclass(frozen=True)
class SourceTree:
    """One of the other sources: as it is pinned, and patched."""

    base: TreeId
    tree: TreeId


@dataclass(frozen=True)
class PatchedTree:
    """`base` and `tree` are sglang's, `sources` the other trees; `patches` and `offsets` are of all of them."""

    base: TreeId
    tree: TreeId
    patches: tuple[Patch, ...]
    offsets: tuple[Offset, ...] = ()
    sources: Mapping[str, SourceTree] = field(default_factory=dict)

    @property
    def trees(self) -> dict[str, TreeId]:
        """The patched tree of each source."""
        return {SGLANG: self.tree, **{name: source.tree for name, source in self.sources.items()}}


@dataclass(frozen=True)
class Need:
    """Why a patch needs another: `reason` is content, context, tombstone, file or declared.

    `file` is the path in the tree, `line` a line of the needing patch's own file that shows it.
    """

    patch: PatchName
    needs: PatchName
    reason: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Queue:
    """The parsed patches of a stack in order, and who needs whom (direct needs; the closure is in depend.py).

    `conflicts`: patches that do not apply where the whole queue stands, and why. `offsets`: of the whole queue.
    `base` is the tree of sglang, `sources` those of the other sources, before any patch.
    """

    base: TreeId
    patches: tuple[Patch, ...]
    needs: tuple[Need, ...] = ()
    paths: Mapping[PatchName, str] = field(default_factory=dict)
    conflicts: Mapping[PatchName, Fault] = field(default_factory=dict)
    offsets: tuple[Offset, ...] = ()
    sources: Mapping[str, TreeId] = field(default_factory=dict)
