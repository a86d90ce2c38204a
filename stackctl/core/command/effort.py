"""How much of a script is followed. A loop in a loop, a list that doubles or a branch without an end may ask for hours;
a script that asks for more than any launch does is refused, and nothing of it is left out in silence.
"""

from __future__ import annotations

from stackctl.errors import InvalidFile, Problem, Where

MOST = 300_000  # words and operators that are gone through; a script of 10,000 lines has some 100,000
SCANNED = 16  # of them that are only looked at cost as much as one
COPIED = 8  # variables, or characters of a word
EXPORTED = 2  # variables that a program gets
TOO_MUCH = "does more than can be followed"
TOO_DEEP = "nests quotes or brackets deeper than can be followed"


class Effort:
    """What is left for one script and the scripts that it writes."""

    def __init__(self) -> None:
        self._left = float(MOST)

    def spend(self, cost: float, where: Where) -> None:
        """Raises InvalidFile, at the place that the script was read to, when there is nothing left."""
        self._left -= cost
        if self._left < 0:
            raise refused(TOO_MUCH, where)


def refused(why: str, where: Where) -> InvalidFile:
    return InvalidFile(
        [Problem(why, where, hint="give the commands themselves, or the part of the script that starts")]
    )
