"""A diff of two versions of one patch, as `git range-diff` shows it: header, message, then each file's hunks.

Line numbers and blob ids are no part of it: a patch that only moved has no range-diff. The outer sign says which
version a line is of, the inner one is the patch's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from stackctl.core.patches.values import FilePatch, Hunk, Patch

CONTEXT = 3
EXACT_UP_TO = 4000  # lines; above it difflib may take common lines for noise, so that it stays fast


def range_diff(old: Patch, new: Patch) -> str:
    """The lines of both, with an outer sign; empty when nothing but places and ids differ."""
    before, after = normal(old), normal(new)
    exact = len(before) + len(after) <= EXACT_UP_TO
    lines: list[str] = []
    for group in SequenceMatcher(None, before, after, autojunk=not exact).get_grouped_opcodes(CONTEXT):
        lines.append(f"@@ {_heading(after, group[0][3])}".rstrip())
        for what, old_from, old_to, new_from, new_to in group:
            if what == "equal":
                lines += [f" {line}" for line in before[old_from:old_to]]
                continue
            lines += [f"-{line}" for line in before[old_from:old_to]]
            lines += [f"+{line}" for line in after[new_from:new_to]]
    return "".join(f"{line}\n" for line in lines)


def normal(patch: Patch) -> list[str]:
    """A patch without what depends on its place: the form that two versions are compared in."""
    header = patch.header
    lines = [" ## Header ##", f"    Author: {header.author or 'not said'}", f"    Date: {header.date or 'not said'}"]
    lines += [" ## Message ##", f"    {header.subject or 'no subject'}", ""]
    lines += [f"    {line}".rstrip() for line in header.body.split("\n")] if header.body else []
    lines += ["", *(f"    {key}: {value}" for key, value in header.trailers)] if header.trailers else []
    for section in sorted(patch.files, key=lambda section: section.path):
        lines += _section(section, patch)
    return lines


def code(patch: Patch, *, context: bool) -> list[str]:
    """The lines that a patch adds and removes, each behind its file; with `context` also those around them."""
    lines = []
    for section in sorted(patch.files, key=lambda section: section.path):
        lines.append(_title(section))
        for hunk in section.hunks:
            lines += [text for text in _texts(hunk) if context or not text.startswith(" ")]
    return lines


def likeness(old: Patch, new: Patch) -> float:
    """The share of lines that both change, 0 to 1."""
    before, after = Counter(_changed(old)), Counter(_changed(new))
    both = sum((before & after).values())
    either = sum((before | after).values())
    return both / either if either else 0.0


def _changed(patch: Patch) -> Iterator[str]:
    for section in patch.files:
        for hunk in section.hunks:
            yield from (f"{section.path} {text}" for text in _texts(hunk) if text[:1] in "+-" and text[1:].strip())


def _section(section: FilePatch, patch: Patch) -> Iterator[str]:
    yield _title(section)
    written = patch.data.split(b"\n")
    for hunk in section.hunks:
        where = written[hunk.line - 1].partition(b"@@")[2].partition(b"@@")[2].decode("utf-8", "surrogateescape")
        yield f"@@ {section.path}:{where.rstrip()}" if where.strip() else f"@@ {section.path}"
        yield from _texts(hunk)


def _title(section: FilePatch) -> str:
    words = [section.path]
    if section.old is None:
        words.append("(new)")
    elif section.new is None:
        words = [section.old, "(deleted)"]
    elif section.rename or section.copy:
        words = [section.old, "=>", section.new]
    if section.old_mode and section.new_mode and section.old_mode != section.new_mode:
        words.append(f"(mode {section.old_mode} => {section.new_mode})")
    return f" ## {' '.join(words)} ##"


def _texts(hunk: Hunk) -> Iterator[str]:
    for line in hunk.lines:
        yield line.decode("utf-8", "surrogateescape").removesuffix("\n")
        if not line.endswith(b"\n"):
            yield "\\ No newline at end of file"


def _heading(lines: Sequence[str], at: int) -> str:
    """The nearest name of a file or hunk at or above a line."""
    for line in reversed(lines[: at + 1]):
        if line.startswith("@@ "):
            return line[3:]
        if line.startswith(" ## "):
            return line[4:].removesuffix(" ##")
    return ""
