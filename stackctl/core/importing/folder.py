"""The order of a folder of patches: told by a series file, a list, or by numbers that somebody confirms.

Names are never sorted in silence. A file that the order does not name is said to be left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

PATCHES = (".patch", ".diff", ".txt", ".mbox", ".eml")
NUMBER = re.compile(r"\A(?:v[0-9]+-)?([0-9]+)")
LEVEL = re.compile(r"-p\s*([0-9]+)\Z")


@dataclass(frozen=True)
class Entry:
    """A file of a series; `level` is the strip level that it states (`x.patch -p0`)."""

    name: str
    level: int | None = None


def series(text: str) -> tuple[Entry, ...]:
    """Quilt's form: a name a line, maybe `-pN` after it, `#` begins a comment."""
    entries = []
    for line in text.splitlines():
        said = re.sub(r"(?:\A|\s)#.*", "", line).strip()
        if said:
            level = LEVEL.search(said)
            entries.append(Entry(LEVEL.sub("", said).strip(), int(level[1]) if level else None))
    return tuple(entries)


def numbered(names: Sequence[str]) -> tuple[Entry, ...] | None:
    """The order that leading numbers say, when every name has one and none twice."""
    found = [(int(match[1]), name) for name in names if (match := NUMBER.match(name))]
    if len(found) != len(names) or len({number for number, _ in found}) != len(found):
        return None
    return tuple(Entry(name) for _, name in sorted(found))


def gaps(names: Sequence[str]) -> tuple[int, ...]:
    """Numbers between the first and the last that no name has: a patch may have been lost."""
    numbers = {int(match[1]) for name in names if (match := NUMBER.match(name.rpartition("/")[2]))}
    return tuple(sorted(set(range(min(numbers), max(numbers))) - numbers)) if numbers else ()


def is_patch(name: str) -> bool:
    return name.lower().endswith(PATCHES)
