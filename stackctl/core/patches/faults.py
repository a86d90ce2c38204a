"""What is wrong with a patch: a closed list of kinds, each with its place in the patch file and what to do.

A fault of the file itself makes the file invalid; one that only shows against a base is a conflict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from stackctl.errors import InvalidFile, PatchConflict, Problem, StackctlError, Where

FileKind = Literal[
    "not-a-patch", "corrupt-hunk", "truncated-hunk", "crlf-patch", "binary-without-data", "binary-patch",
    "combined-diff", "mailbox", "symlink", "symlink-target", "gitlink", "path-escape", "absolute-path", "bad-path",
    "forbidden-name", "duplicate-name", "bad-needs", "excluded", "other-source", "corrupt-header",
]  # fmt: skip
BaseKind = Literal[
    "no-strip-level", "missing-file", "exists-already", "already-applied", "context-mismatch", "ambiguous-context",
    "through-symlink", "needs-patch", "refused-by-git",
]  # fmt: skip
Kind = FileKind | BaseKind
BASE_KINDS: frozenset[str] = frozenset(
    ("no-strip-level", "missing-file", "exists-already", "already-applied", "context-mismatch", "ambiguous-context",
     "through-symlink", "needs-patch", "refused-by-git")
)  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """`patch` is the patch file's path; `line` counts from 1 in it; `facts` are what a script may want."""

    kind: Kind
    patch: str
    line: int | None
    message: str
    hint: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def needs_base(self) -> bool:
        return self.kind in BASE_KINDS

    def problem(self) -> Problem:
        return Problem(f"{self.kind}: {self.message}", Where(self.patch, self.line), hint=self.hint)


class Refused(Exception):
    """Carries one fault out of a parser; never leaves core/patches."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def error_of(faults: Sequence[Fault]) -> StackctlError:
    """One error for all of them: an invalid file (exit 2) if any file is, else a conflict (exit 3) for the first."""
    invalid = [fault.problem() for fault in faults if not fault.needs_base]
    if invalid:
        return InvalidFile(invalid)
    first = faults[0].problem()
    others = "".join(f"\nalso {fault.problem()}" for fault in faults[1:])
    return PatchConflict(first.message + others, first.hint, first.where)
