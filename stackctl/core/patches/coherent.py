"""Whether a file section says one thing: to every reader of it the same change of the same file.

Git takes the names from one line of a section, its modes from another, and passes over what it does not know; what
a person has read in a third line is then not what is applied. A section that contradicts itself, or that says nothing
to do, is refused, and so is a patch that changes one file in two sections: git reads some of those one after the other
and some from the same start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stackctl.core.patches.faults import Fault
from stackctl.core.patches.names import name_fault
from stackctl.core.patches.sections import read_name
from stackctl.core.patches.values import FilePatch, Patch

Fields = Mapping[bytes, tuple[int, bytes]]
PAIRS = ((b"rename from ", b"rename to "), (b"copy from ", b"copy to "), (b"old mode ", b"new mode "))
DOING = (b"rename to ", b"copy to ", b"new mode ", b"new file mode ", b"deleted file mode ")
APART = (b"rename to ", b"copy to ", b"new file mode ", b"deleted file mode ")  # a section is one of these at most
NOWHERE = b"/dev/null"
INDEX = re.compile(rb"[0-9a-f]+\.\.[0-9a-f]+( [0-7]+)?\s*")
NAMES = "Write names of the source tree, relative to its top, each as it is."
REDO = "Export it again: `git diff --full-index --no-renames`, one section for each file."


def header_contradiction(line: bytes, fields: Fields, marks: Sequence[bytes], hunks: int) -> str | None:
    """What is wrong with the header of a section, if anything is.

    `line`: what follows `diff --git `. `marks`: what follows `--- ` and `+++ `, or nothing. `hunks`: their number.
    """
    for first, second in PAIRS:
        if (first in fields) != (second in fields):
            has, lacks = (first, second) if first in fields else (second, first)
            return f"it has `{has.decode().strip()}` and no `{lacks.decode().strip()}`"
    if b"index " in fields and not INDEX.fullmatch(fields[b"index "][1]):
        return "its `index` line holds no ids of blobs"
    said = [key for key in APART if key in fields]
    if len(said) > 1:
        return f"it has `{said[0].decode().strip()}` and `{said[1].decode().strip()}`"
    if not hunks and not any(key in fields for key in DOING):
        return "it changes nothing: neither hunk nor mode follows"
    return _names(line.rstrip(b"\n"), fields, [_name(mark) for mark in marks]) if marks else None


def _names(line: bytes, fields: Fields, marks: Sequence[bytes]) -> str | None:
    for mark, side, key in ((marks[0], "---", b"new file mode "), (marks[1], "+++", b"deleted file mode ")):
        if (mark == NOWHERE) != (key in fields):
            what = "the file is there" if mark != NOWHERE else "there is none"
            return f"`{side}` says that {what}, and `{key.decode().strip()}` is {'' if key in fields else 'not '}said"
    if moves := [fields[key][1] for key in _moved(fields)]:
        names, written = ([read_name(text)[0] for text in texts] for texts in (moves, marks))
        if names not in (written, [name.partition("/")[2] for name in written]):
            return f"it moves {names[0]} to {names[1]}, and its hunks are for {written[0]} and {written[1]}"
    old, new = marks
    if not moves and not line.startswith(b"" if old == NOWHERE else old + b" "):
        return f"its first line does not name {_shown(old)}"
    if not moves and not line.endswith(b"" if new == NOWHERE else b" " + new):
        return f"its first line does not name {_shown(new)}"
    return None


def _moved(fields: Fields) -> tuple[bytes, ...]:
    return next((pair for pair in PAIRS[:2] if pair[0] in fields), ())


def _name(mark: bytes) -> bytes:
    """As it is written, without the tab or timestamp after it."""
    return mark.rstrip(b"\n").partition(b"\t")[0]


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def settled_fault(patch: Patch) -> Fault | None:
    """What shows only when the names of the tree are known: names of the tree itself, two names, or a name twice."""
    return next((fault for section in patch.files if (fault := _named(patch, section))), None) or _twice(patch)


def _named(patch: Patch, section: FilePatch) -> Fault | None:
    for name in (section.old, section.new):
        if wrong := name_fault(name) if name else None:  # an `a/` may have hidden what it begins with
            return Fault(wrong.kind, patch.file, section.line, f"{name!r}: {wrong.reason}", NAMES, {"file": name})
    if section.old and section.new and section.old != section.new and not (section.rename or section.copy):
        message = f"it names two files, {section.old} and {section.new}, and no line says that one becomes the other"
        return Fault("corrupt-header", patch.file, section.line, message, REDO)
    return None


def _twice(patch: Patch) -> Fault | None:
    """A file that two sections change, or one changes and another copies. Two copies of one file are none."""
    changed: dict[str, FilePatch] = {}
    copied = {section.old: section for section in patch.files if section.copy}
    for section in patch.files:
        for path in {section.new} if section.copy else {section.old, section.new}:
            if path is None:
                continue
            other = changed.setdefault(path, section)
            if other is section:
                other = copied.get(path, section)
            if other is not section:
                first, last = sorted((other.line, section.line))
                message = f"{path} is changed here, and the section of line {first} is about it too"
                return Fault("corrupt-header", patch.file, last, message, REDO, {"file": path})
    return None
