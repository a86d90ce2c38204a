"""Where the lines of a file went that the new base no longer has, or of a function that it has elsewhere now.

By the lines that a patch reads: the file that holds most of them, if it holds enough. It offers, it does not decide.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from stackctl.core.patches.values import FilePatch, Patch

ENOUGH = 0.6  # share of the lines
TELLING = 4  # bytes that a line must have to tell anything: no brackets, no `else:`


@dataclass(frozen=True)
class Home:
    """`share` of the telling lines that the patch reads in `old` are in `new`."""

    old: str
    new: str
    found: int
    lines: int

    @property
    def share(self) -> float:
        return self.found / self.lines


def homes(section: FilePatch, files: Mapping[str, bytes], most: int = 3) -> tuple[Home, ...]:
    """The likeliest new homes of a section's lines, best first; of equal ones, the name most alike.

    None where the old file, if it is among `files`, has as many of them.
    """
    lines = {line for hunk in section.hunks for line in hunk.old_lines if _tells(line)}
    old = section.old or section.path
    if not lines:
        return ()
    likely = {path: data for path, data in files.items() if path == old or _may_hold(data, lines)}
    found = [Home(old, path, len(lines & set(_lines(data))), len(lines)) for path, data in likely.items()]
    own = max((home.found for home in found if home.new == old), default=0)
    better = [home for home in found if home.share >= ENOUGH and home.found > own]
    return tuple(sorted(better, key=lambda home: (-home.found, -_alike(old, home.new), home.new))[:most])


def rehomed(patch: Patch, home: Home) -> Patch:
    """The patch with one file's section for its new home."""
    files = tuple(
        replace(section, old=home.new, new=home.new) if section.old == home.old and section.new else section
        for section in patch.files
    )
    return replace(patch, files=files)


def _may_hold(data: bytes, lines: Collection[bytes]) -> bool:
    """A quick no: most files hold next to none of the lines."""
    lacking, most = 0, (1 - ENOUGH) * len(lines)
    for line in lines:
        lacking += line not in data
        if lacking > most:
            return False
    return True


def _lines(data: bytes) -> Sequence[bytes]:
    return data.splitlines(keepends=True)


def _tells(line: bytes) -> bool:
    text = line.strip()
    return len(text) > TELLING and not text.startswith((b"#", b'"""'))


def _alike(one: str, other: str) -> int:
    """Parts that two paths share at their ends."""
    ours, theirs = one.split("/")[::-1], other.split("/")[::-1]
    return sum(a == b for a, b in zip(ours, theirs, strict=False))
