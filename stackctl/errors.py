"""Every error that a user can meet, each with what is wrong, where, and what to do.

One exception base, and a child only where a script must tell the cases apart by exit code. Nothing
here prints: the command line has the one boundary that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Where:
    """A place in a file; lines and columns count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file, *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


@dataclass(frozen=True)
class Problem:
    """One mistake of an input: `key` is the path of the key (`roles.decode.port`), if it has one."""

    message: str
    where: Where | None = None
    key: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        return ": ".join(str(part) for part in (self.where, self.key, self.message) if part)


class StackctlError(Exception):
    """The base: exit code 1, failed or refused."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None, where: Where | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class UsageError(StackctlError):
    """Wrong usage of the command line."""

    exit_code = 2


class InvalidFile(StackctlError):
    """A file with mistakes: all of them, not only the first."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem], hint: str | None = None) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(p) for p in self.problems), hint)


class PatchConflict(StackctlError):
    """A patch does not apply and wants hands."""

    exit_code = 3


class Held(StackctlError):
    """Another deploy holds a host of this stack."""

    exit_code = 4


class GateFailed(StackctlError):
    """The new release failed its gate; the old one is serving again."""

    exit_code = 5


class RollbackFailed(StackctlError):
    """The new release failed its gate and the old one did not come back."""

    exit_code = 6


class Drift(StackctlError):
    """Differences were asked for and found (`--exit-code`)."""

    exit_code = 7


class Interrupted(StackctlError):
    """Ctrl-C; the message says what is left and which command goes on."""

    exit_code = 130
