"""Reads one hunk by its counts, as git does, and refuses what git lets pass: lines left over after a full hunk.

Git stops at the declared counts and takes the rest for prose, so a count too small by one drops an added line
without a word. Nothing inside of a hunk is ever looked at as a header.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stackctl.core.patches.faults import Fault, Kind, Refused
from stackctl.core.patches.values import Hunk

HUNK = re.compile(rb"@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")
SIGNATURE = b"-- \n"


def read_hunk(lines: Sequence[bytes], at: int, file: str) -> tuple[Hunk, int]:
    """The hunk whose @@ is lines[at], and the index after it. Raises Refused."""
    match = HUNK.match(lines[at])
    if not match:
        raise Refused(Fault("corrupt-hunk", file, at + 1, "this @@ line cannot be read", _REDO))
    old_start, old, new_start, new = (int(group) if group is not None else 1 for group in match.groups())
    body: list[bytes] = []
    numbers: list[int] = []
    left_old, left_new, end, unended = old, new, at + 1, False
    while left_old > 0 or left_new > 0:
        line = lines[end] if end < len(lines) else b""
        kind = line[:1]
        if kind == b" ":
            left_old, left_new = left_old - 1, left_new - 1
        elif kind == b"+":
            left_new -= 1
        elif kind == b"-":
            left_old -= 1
        elif line == b"\n":  # an empty line of context that has lost its space
            line, left_old, left_new = b" \n", left_old - 1, left_new - 1
        elif kind == b"\\" and body:
            body[-1], unended = body[-1].removesuffix(b"\n"), True
            end += 1
            continue
        else:
            raise Refused(_miscounted(lines, at, (old, new), file))
        if left_old < 0 or left_new < 0:
            raise Refused(_miscounted(lines, at, (old, new), file))
        body.append(line)
        end += 1
        numbers.append(end)
    if end < len(lines) and lines[end].startswith(b"\\") and body:
        body[-1] = body[-1].removesuffix(b"\n")
        end += 1
    if unended and (wrong := _run_together(body)) is not None:
        message = f"line {numbers[wrong]} has no line end, but is not the last one of its side"
        raise Refused(Fault("corrupt-hunk", file, at + 1, message, _REDO))
    if end < len(lines) and lines[end][:1] in b" +-" and lines[end] != SIGNATURE and not is_names(lines, end):
        raise Refused(_miscounted(lines, at, (old, new), file))
    if body and not lines[end - 1].endswith(b"\n"):
        message = "the file ends without a line end, so its last line may be cut"
        raise Refused(Fault("truncated-hunk", file, at + 1, message, "Add the line end, or export the patch again."))
    return Hunk(at + 1, old_start, old, new_start, new, tuple(body), tuple(numbers)), end


def _run_together(body: Sequence[bytes]) -> int | None:
    """The first line without an end that others of its side follow: git would run the two together."""
    for at, line in enumerate(body):
        if not line.endswith(b"\n"):
            other = {b"-": b"+", b"+": b"-"}.get(line[:1])
            if any(later[:1] != other for later in body[at + 1 :]):
                return at
    return None


def is_names(lines: Sequence[bytes], at: int) -> bool:
    """Whether two lines, `--- OLD` and `+++ NEW`, begin here."""
    return lines[at].startswith(b"--- ") and at + 1 < len(lines) and lines[at + 1].startswith(b"+++ ")


_REDO = "Export the patch again, or correct the counts of this line."


def _miscounted(lines: Sequence[bytes], at: int, declared: tuple[int, int], file: str) -> Fault:
    counted, end = _count(lines, at + 1)
    cut = end >= len(lines) and counted[0] <= declared[0] and counted[1] <= declared[1]
    kind: Kind = "truncated-hunk" if cut else "corrupt-hunk"
    what = "the file ends inside of this hunk: it declares" if cut else "the hunk declares"
    message = (
        f"{what} {declared[0]} old and {declared[1]} new lines, but {counted[0]} old and {counted[1]} new ones follow"
    )
    facts = {"declared": list(declared), "counted": list(counted)}
    return Fault(kind, file, at + 1, message, _REDO, facts)


def _count(lines: Sequence[bytes], start: int) -> tuple[tuple[int, int], int]:
    """Old and new lines that look like hunk lines, and where they end; blank lines at their end do not count."""
    old = new = 0
    blank = 0
    at = start
    while at < len(lines):
        line = lines[at]
        if line == b"\n":
            blank += 1
        elif line[:1] in b" +-" and line != SIGNATURE and not is_names(lines, at):
            old += (line[:1] != b"+") + blank
            new += (line[:1] != b"-") + blank
            blank = 0
        elif not line.startswith(b"\\"):
            break
        at += 1
    return (old, new), at
