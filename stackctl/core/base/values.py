"""A file of a tree before git has it: what bases are made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TreeFile:
    """`path` is relative and POSIX; `mode` is git's (100644, 100755 or 120000)."""

    path: str
    data: bytes
    mode: str = "100644"
