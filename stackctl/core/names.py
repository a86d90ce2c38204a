"""Names that cannot be mixed up: ids, patch names, and a secret that does not print."""

from __future__ import annotations

from typing import NewType

Commit = NewType("Commit", str)  # 40 hex digits
TreeId = NewType("TreeId", str)  # 40 hex digits, git's id of a tree
Digest = NewType("Digest", str)  # 64 hex digits, sha256
PatchName = NewType("PatchName", str)  # "topic/name", the file patches/topic/name.patch
ReleaseId = NewType("ReleaseId", str)  # 12 hex digits
SGLANG = "sglang"  # the source that `base` pins, and that a patch without a `Source:` trailer is for


class Secret:
    """A value that prints as `***`; only an adapter reveals it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__
