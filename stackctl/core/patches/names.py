"""Which file names a patch or a base may hold, and what a patch may be called: on the names alone, before anything is
read or applied.

Stricter than git on purpose: a tree is unpacked on other machines and file systems, so a name that any of them
takes for `.git`, or that leaves the tree, is refused everywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from stackctl.core.patches.faults import FileKind

# characters that HFS+ ignores when it compares names
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_SHORT_NAME = re.compile(r"git~[0-9]+\Z|gi[0-9a-f]{4}~[0-9]+\Z")
_CONTROL = re.compile(r"[\\\x00-\x1f\x7f-\x9f]")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_PATCH = re.compile(r"[A-Za-z0-9._/-]+")


@dataclass(frozen=True)
class NameFault:
    """`kind` is the kind of the fault; `reason` completes the sentence `NAME: …`."""

    kind: FileKind
    reason: str


@lru_cache(maxsize=4096)  # patches of a queue name the same files
def name_fault(name: str) -> NameFault | None:
    """What is wrong with the name of a file in a tree, if anything is."""
    if name.startswith("/") or _DRIVE.match(name):
        return NameFault("absolute-path", "an absolute name has no place in a tree")
    parts = name.split("/")
    if ".." in parts:
        return NameFault("path-escape", "`..` leads out of the tree")
    if "" in parts or "." in parts:
        return NameFault("bad-path", "a component is empty or `.`")
    if _CONTROL.search(name):
        return NameFault("bad-path", "backslashes and control characters are refused")
    if any(_looks_like_dot_git(part) for part in parts):
        return NameFault("forbidden-name", "some file system takes a component for `.git`")
    return None


def patch_name_fault(name: str) -> str | None:
    """Why no patch may have this name, completing the sentence `NAME …`; None when it may.

    A patch's name is that of a file on any system, and what git takes as a ref (`git check-ref-format`).
    """
    parts = name.split("/")
    if not all(parts):
        return "is empty, or begins, ends or goes on with a `/` too many"
    if not _PATCH.fullmatch(name):
        return "may hold letters, digits, `.`, `_`, `-`, and `/` after a topic"
    if ".." in name:
        return "holds `..`"
    if any(part.startswith((".", "-")) for part in parts):
        return "has a part that begins with `.` or `-`"
    if any(part.endswith(".") for part in parts):
        return "has a part that ends with `.`"
    if any(part.lower().endswith(".lock") for part in parts):
        return "has a part that ends with `.lock`, which git keeps for itself"
    return None


def _looks_like_dot_git(part: str) -> bool:
    seen = _IGNORED.sub("", part).casefold().partition(":")[0].rstrip(" .")
    return seen == ".git" or bool(_SHORT_NAME.match(seen))
