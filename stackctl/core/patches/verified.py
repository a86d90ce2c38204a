"""Writes one trailer into the header of a patch file, and changes no other byte of it.

A line goes after the last trailer; where there is none yet, it becomes the last paragraph of the message. A file that
is only a diff has no message to write into, and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from stackctl.core.patches.canonical import folded
from stackctl.core.patches.values import Header

KEY = "Verified-on"


def verified(data: bytes, header: Header, base: str, day: str, what: str) -> bytes:
    """The file with `Verified-on: BASE DAY WHAT`: in place of the line that says the same of another day, or after it.

    Raises ValueError for a patch without a message.
    """
    if not header.subject:
        raise ValueError("it has no `Subject:`")
    lines = data.split(b"\n")
    new = [line.encode() for line in folded(f"{KEY}: {base} {day} {what}")]
    for value, line in header.places(KEY):
        if value.split(" ")[0] == base and value.split(" ", 2)[2:] == [what] and line is not None:
            return b"\n".join([*lines[: line - 1], *new, *lines[_end(lines, line) :]])
    if header.lines:
        at = _end(lines, header.lines[-1])
        return b"\n".join([*lines[:at], *new, *lines[at:]])
    at = header.end - 1
    while at and not lines[at - 1].strip():
        at -= 1
    return b"\n".join([*lines[:at], b"", *new, *lines[at:]])


def _end(lines: Sequence[bytes], line: int) -> int:
    """The index after a trailer that begins in `line`, with what is folded below it."""
    at = line
    while at < len(lines) and lines[at][:1] in (b" ", b"\t") and lines[at].strip():
        at += 1
    return at
