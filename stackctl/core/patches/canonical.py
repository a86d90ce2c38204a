"""The one form in which stackctl writes a patch file: mail header, message, trailers, `---`, the diff.

Bytes depend on the content alone: no commit id, no stat, no signature, names and dates as the header has them. What
git has to say about the form of the diff (full ids, no renames, three lines of context) is in adapters/git.
"""

from __future__ import annotations

import re
import textwrap
from datetime import UTC, datetime
from email.utils import format_datetime

from stackctl.core.patches.parse import ParsedPatch, diff_line
from stackctl.core.patches.values import Header

FROM = "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001"
AUTHOR = "stackctl <stackctl@localhost>"  # stands in for what a file does not say
DATE = datetime(2000, 1, 1, tzinfo=UTC)
ENDS_MESSAGE = re.compile(r"---(?:\s|\Z)|diff -|@@ |Binary files |From \S.*[0-9]{2}:[0-9]{2}")
WIDTH = 78  # columns of a folded trailer


def canonical(header: Header, diff: bytes) -> bytes:
    """A patch file of this header and diff. Raises ValueError for a header without a subject."""
    if not (header.subject or "").strip():
        raise ValueError("a patch needs a subject")
    lines = [
        FROM,
        f"From: {header.author or AUTHOR}",
        f"Date: {format_datetime(_date(header.date))}",
        f"Subject: [PATCH] {' '.join((header.subject or '').split())}",
        "",
    ]
    if header.body:
        lines += [*map(_safe, header.body.split("\n")), ""]
    for key, value in header.trailers:
        lines += folded(f"{key}: {value}")
    lines += ["---", ""]
    return "\n".join(lines).encode("utf-8", "surrogateescape") + diff


def with_diff(patch: ParsedPatch, diff: bytes) -> bytes:
    """The same file with another diff: its header keeps every byte, so that a refresh never churns it."""
    start = diff_line(patch) - 1
    return b"".join(line + b"\n" for line in patch.data.split(b"\n")[:start]) + diff


def slug(subject: str) -> str:
    """A name for a patch, from its subject: lower case, words joined by `-`; never a number alone, never empty."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in subject.lower())
    words = [word for word in kept.split("-") if word]
    while words and words[0].isdigit():  # 0007-name: order lives in the stack file
        words = words[1:]
    return "-".join(words)[:60].strip("-") or "patch"


def folded(line: str) -> list[str]:
    """A trailer in lines of at most WIDTH columns, where words allow it."""
    return textwrap.wrap(line, WIDTH, subsequent_indent=" ", break_long_words=False, break_on_hyphens=False)


def _safe(line: str) -> str:
    """A line of a message that would end it, or begin a diff, is set in by a space."""
    return f" {line}" if ENDS_MESSAGE.match(line) else line


def _date(text: str | None) -> datetime:
    try:
        return datetime.fromisoformat(text) if text else DATE
    except ValueError:  # the file says something that is no date
        return DATE
