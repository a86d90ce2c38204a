"""Git's diff of two trees, taken apart by file: to leave files out, to count lines, to list names.

It reads only what git itself wrote; patch files from outside are read by parse.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from stackctl.core.patches.sections import names_of_git_line

# lines of a hunk begin with a sign, so none looks like these; `# source NAME: …` stands before another tree's files
BEGINS = re.compile(r"^(?=diff --git |# source )", re.MULTILINE)
GRAPH = 40  # columns of the signs of a stat


@dataclass(frozen=True)
class FileCount:
    path: str
    added: int
    removed: int


@dataclass(frozen=True)
class FileDiff(FileCount):
    """`text` keeps bytes that are no UTF-8 as lone surrogates."""

    text: str = field(repr=False)


def by_file(diff: str) -> tuple[FileDiff, ...]:
    """The sections of a diff, in its order."""
    return tuple(_file(text) for text in BEGINS.split(diff) if text.startswith("diff --git "))


def _file(text: str) -> FileDiff:
    first, _, rest = text.partition("\n")
    old, new = names_of_git_line(first.encode("utf-8", "surrogateescape"))
    lines = rest.split("\n")
    start = next((at for at, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
    added = sum(line.startswith("+") for line in lines[start:])
    removed = sum(line.startswith("-") for line in lines[start:])
    return FileDiff((new or old or "").partition("/")[2], added, removed, text)


def stat(files: Sequence[FileCount]) -> str:
    """What `git diff --stat` says of these files."""
    if not files:
        return ""
    names = [visible(file.path) for file in files]
    wide = max(map(len, names))
    counts = [file.added + file.removed for file in files]
    digits = len(str(max(counts)))
    lines = [
        f" {name:{wide}} | {count:{digits}} {_signs(file, max(counts))}".rstrip()
        for name, count, file in zip(names, counts, files, strict=True)
    ]
    return "".join(f"{line}\n" for line in [*lines, f" {totals(files)}"])


def totals(files: Sequence[FileCount]) -> str:
    """`2 files changed, 3 insertions(+), 1 deletion(-)`, as git says it."""
    words = [f"{len(files)} file{'s'[: len(files) != 1]} changed"]
    for count, name in (
        (sum(file.added for file in files), "insertion{}(+)"),
        (sum(file.removed for file in files), "deletion{}(-)"),
    ):
        if count:
            words.append(f"{count} {name.format('s'[: count != 1])}")
    return ", ".join(words)


def visible(text: str) -> str:
    """One line of a text from outside: what a terminal would act upon is shown as an escape."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _signs(file: FileCount, most: int) -> str:
    scale = min(1.0, GRAPH / most) if most else 0.0
    return "+" * _scaled(file.added, scale) + "-" * _scaled(file.removed, scale)


def _scaled(count: int, scale: float) -> int:
    return max(1, round(count * scale)) if count else 0
