"""Made-up queues on a real tree: patches that edit, make and delete files, some of them on lines of earlier ones.

Everything follows from the seed. The patches are what `git format-patch --full-index --no-renames -U3` would write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stackctl.core.patches.trees import blob_id

NONE = "0" * 40
HOT = 12  # files that every third section is about
CONTEXT = 3
Lines = list[bytes]


@dataclass
class Draw:
    """Numbers that depend on nothing but the seed and how many were drawn."""

    seed: str
    count: int = 0

    def below(self, limit: int) -> int:
        self.count += 1
        digest = hashlib.sha256(f"{self.seed}/{self.count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % limit


@dataclass
class Maker:
    """`files`: what the tree has at the start. `marks`: lines near to which earlier patches have edited."""

    files: Mapping[str, bytes]
    draw: Draw
    now: dict[str, Lines | None] = field(default_factory=dict)
    marks: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._paths = sorted(path for path, data in self.files.items() if _is_plain(data))
        self._hot = [self._paths[self.draw.below(len(self._paths))] for _ in range(HOT)]

    def patch(self, number: int) -> bytes:
        paths = {self._some_path() for _ in range(1 + self.draw.below(3))}
        sections = [self._edit(path, number) for path in sorted(paths)]
        if self.draw.below(12) == 0:
            sections.append(self._create(f"python/sglang/srt/zz_made/made_{number}.py"))
        if self.draw.below(25) == 0:
            path = self._some_path(hot=False)
            if path not in paths:
                sections.append(self._delete(path))
        minute, second = divmod(number, 60)
        header = (
            f"From {NONE} Mon Sep 17 00:00:00 2001\nFrom: A Maintainer <maintainer@example.org>\n"
            f"Date: Tue, 1 Jul 2025 10:{minute:02}:{second:02} +0000\nSubject: [PATCH] Made-up {number}\n"
            "\nArea: serving\nWhy: A queue of this length is to be measured.\nUpstream: Inappropriate made up\n---\n"
        )
        return header.encode() + b"".join(sorted(sections)) + b"\n"

    def _some_path(self, hot: bool = True) -> str:
        while True:
            pool = self._hot if hot and self.draw.below(3) == 0 else self._paths
            path = pool[self.draw.below(len(pool))]
            if self._lines(path):
                return path

    def _lines(self, path: str) -> Lines | None:
        if path not in self.now:
            self.now[path] = self.files[path].splitlines(keepends=True)
        return self.now[path]

    def _edit(self, path: str, number: int) -> bytes:
        old = self._lines(path) or []
        places = self._places(path, len(old))
        hunks, new, end, shift = [], list[bytes](), 0, 0
        for at in places:
            away = self.draw.below(3)
            put = [
                b"# %d of patch %d\n" % (self.draw.below(10**6), number) for _ in range(self.draw.below(4) or not away)
            ]
            first, last = at - CONTEXT, at + away + CONTEXT
            before, gone, after = old[first:at], old[at : at + away], old[at + away : last]
            span = (first + 1, last - first, first + 1 + shift, last - first - away + len(put))
            body = [b" " + x for x in before] + [b"-" + x for x in gone] + [b"+" + x for x in put]
            hunks.append(b"@@ -%d,%d +%d,%d @@\n" % span + b"".join(body + [b" " + x for x in after]))
            new += old[end:at] + put
            end, shift = at + away, shift + len(put) - away
        new += old[end:]
        self._set(path, new, places)
        ids = f"index {blob_id(b''.join(old))}..{blob_id(b''.join(new))} 100644\n"
        names = f"diff --git a/{path} b/{path}\n{ids}--- a/{path}\n+++ b/{path}\n"
        return names.encode() + b"".join(hunks)

    def _places(self, path: str, size: int) -> list[int]:
        """Far enough from each other and from the ends; every third one near to an earlier edit."""
        marks, chosen = self.marks.get(path, []), list[int]()
        for _ in range(1 + self.draw.below(4)):
            near = marks and self.draw.below(3) == 0
            at = marks[self.draw.below(len(marks))] + self.draw.below(5) - 2 if near else self.draw.below(size)
            if 4 <= at < size - 8 and all(abs(at - other) > 10 for other in chosen):
                chosen.append(at)
        return sorted(chosen) or [size // 2]

    def _set(self, path: str, lines: Lines, marks: Sequence[int]) -> None:
        self.now[path] = lines
        self.marks.setdefault(path, []).extend(marks)

    def _create(self, path: str) -> bytes:
        put = [b"line %d\n" % self.draw.below(10**6) for _ in range(20)]
        self.now[path] = put
        names = f"diff --git a/{path} b/{path}\nnew file mode 100644\nindex {NONE}..{blob_id(b''.join(put))}\n"
        return f"{names}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,20 @@\n".encode() + b"".join(b"+" + x for x in put)

    def _delete(self, path: str) -> bytes:
        old = self._lines(path) or []
        self.now[path] = None
        names = f"diff --git a/{path} b/{path}\ndeleted file mode 100644\nindex {blob_id(b''.join(old))}..{NONE}\n"
        hunk = f"--- a/{path}\n+++ /dev/null\n@@ -1,{len(old)} +0,0 @@\n"
        return (names + hunk).encode() + b"".join(b"-" + x for x in old)


def _is_plain(data: bytes) -> bool:
    return data.count(b"\n") >= 60 and data.endswith(b"\n") and not {0, 13} & set(data)


def synthetic(files: Mapping[str, bytes], count: int, seed: str) -> dict[str, bytes]:
    """Names and bytes of `count` patches, in order."""
    maker = Maker(files, Draw(seed))
    return {f"made/p{number:03}": maker.patch(number) for number in range(count)}
