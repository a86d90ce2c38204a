"""Where the constructs of a script end: the word that closes what another one opens."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stackctl.core.command.effort import SCANNED, Effort
from stackctl.core.command.lexer import Token

IGNORED = frozenset(("then", "do", "{", "}", "!", "time", "coproc"))
BEFORE_COMMAND = IGNORED | {"else"}


class Blocks:
    """Searches through the words of one script, whose cost is counted: what has no end is sought to the end."""

    def __init__(self, found: Sequence[Token], effort: Effort) -> None:
        self._tokens, self._effort = found, effort

    def first(self, at: int, end: int, texts: Collection[str]) -> int | None:
        """The next one of these words or operators."""
        found = next((number for number in range(at, end) if self._tokens[number].text in texts), None)
        self._looked(at, end if found is None else found)
        return found

    def at_command(self, at: int) -> bool:
        """Whether a command may begin there."""
        before = self._tokens[at - 1] if at else None
        return before is None or before.kind == "operator" or before.text in BEFORE_COMMAND

    def closing(self, at: int, end: int, opening: str, closing: str) -> int | None:
        """The one that closes what the one before `at` opens."""
        depth = 1
        for number in range(at, end):
            one = self._tokens[number]
            if one.kind != "word" or one.quoted or not self.at_command(number):
                continue
            depth += (one.text == opening) - (one.text == closing)
            if depth == 0 and one.text == closing:
                self._looked(at, number)
                return number
        self._looked(at, end)
        return None

    def body(self, at: int, end: int) -> int | None:
        """Behind the `do` of a loop."""
        while (found := self.first(at, end, ("do",))) is not None:
            if self.at_command(found):
                return found + 1
            at = found + 1
        return None

    def _looked(self, at: int, end: int) -> None:
        if at < len(self._tokens):
            self._effort.spend((end - at) / SCANNED, self._tokens[at].where)
