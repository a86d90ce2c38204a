"""What a three-way merge of trees gives, and its conflicts as a person reads them: place, and what each side has.

Git merges; nothing is decided here. A conflict is told with all three sides, because which of two is right shows
only beside what both began from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stackctl.core.names import Commit, TreeId

CONFLICT = "CONFLICT"
GONE_KINDS = ("CONFLICT (modify/delete)", "CONFLICT (rename/delete)")


@dataclass(frozen=True)
class Labels:
    """What the sides are called between conflict markers. They must be single lines."""

    ours: str
    base: str
    theirs: str


@dataclass(frozen=True, order=True)
class Stage:
    """One side of a path in conflict: number 1 is what both began from, 2 ours, 3 theirs."""

    path: str
    number: int
    mode: str
    blob: str


@dataclass(frozen=True)
class Notice:
    """What git says about a merge: kind (`Auto-merging`, `CONFLICT (contents)`, …), the paths, its words."""

    kind: str
    paths: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class TreeMerge:
    """`tree` has conflict markers in `files`, the contents of the paths in conflict that it holds."""

    tree: TreeId
    clean: bool
    stages: tuple[Stage, ...] = ()
    notices: tuple[Notice, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def conflicted(self) -> tuple[str, ...]:
        """Paths in conflict, sorted; of notices where no stage says it."""
        said = (path for notice in self.notices if notice.kind.startswith(CONFLICT) for path in notice.paths)
        return tuple(sorted({*(stage.path for stage in self.stages), *(said if not self.stages else ())}))

    @property
    def deleted(self) -> tuple[str, ...]:
        """Paths that one side changed and the other took away."""
        return tuple(dict.fromkeys(n.paths[0] for n in self.notices if n.kind in GONE_KINDS and n.paths))


@dataclass(frozen=True)
class Landable:
    """A patch that may be a commit of its base: git's diff of it, its paths, and the commit that its header names."""

    diff: bytes
    paths: tuple[str, ...]
    said: Commit | None = None


@dataclass(frozen=True)
class Clash:
    """One place where both sides changed the same lines. `line` is that of the marker in the merged file.

    The sides are lines without their ends. `kind` is git's word for it; a clash of whole files has no line.
    """

    path: str
    kind: str
    line: int | None = None
    ours: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()


def clashes(merged: TreeMerge, labels: Labels) -> tuple[Clash, ...]:
    """Every conflict of a merge, by path; a path without markers is told by git's own word."""
    kinds = {notice.paths[0]: notice.kind for notice in merged.notices if _is_conflict(notice)}
    found: list[Clash] = []
    for path in merged.conflicted:
        kind = kinds.get(path, CONFLICT).removeprefix(CONFLICT).strip(" ()") or "conflict"
        places = list(_marked(path, kind, merged.files.get(path, b""), labels))
        found += places or [Clash(path, kind)]
    return tuple(found)


def _is_conflict(notice: Notice) -> bool:
    return notice.kind.startswith(CONFLICT) and bool(notice.paths)


def _marked(path: str, kind: str, data: bytes, labels: Labels) -> Iterator[Clash]:
    sides: dict[str, list[str]] = {}
    side, began = "", 0
    for number, line in enumerate(data.split(b"\n"), 1):
        text = line.decode("utf-8", "replace").rstrip("\r")
        if _is_mark(text, "<<<<<<< ", labels.ours):
            sides, side, began = {"ours": [], "base": [], "theirs": []}, "ours", number
        elif side == "ours" and _is_mark(text, "||||||| ", labels.base):
            side = "base"
        elif side in ("ours", "base") and text == "=======":
            side = "theirs"
        elif side == "theirs" and _is_mark(text, ">>>>>>> ", labels.theirs):
            yield Clash(path, kind, began, tuple(sides["ours"]), tuple(sides["base"]), tuple(sides["theirs"]))
            side = ""
        elif side:
            sides[side].append(text)


def _is_mark(text: str, mark: str, label: str) -> bool:
    """Git adds the path to a label when the sides have different ones."""
    return text == mark + label or text.startswith(f"{mark}{label}:")


def leftover(data: bytes) -> int | None:
    """The first line that still is a conflict marker of git's, if one is."""
    lines = data.split(b"\n")
    marks: Sequence[bytes] = (b"<<<<<<< ", b"||||||| ", b">>>>>>> ")
    return next((number for number, line in enumerate(lines, 1) if line.startswith(tuple(marks))), None)
