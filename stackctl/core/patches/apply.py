"""Places hunks in a file that remembers who wrote each line, by git's rule but never by its guesses.

Git's rule: all context must match; a hunk stated at line 1 fits only at the start, one without trailing context
only at the end. Ours adds: where the stated place does not fit and several others do, nothing is chosen. The tree
itself is made by git; this module says where things land, and why they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq

from stackctl.core.patches.values import Hunk

Origin = tuple[str, int]  # the patch that wrote a line, empty for the base, and its line there: its name for good
NOBODY: frozenset[str] = frozenset()


@dataclass
class Text:
    """A file in the middle of a queue. Lists of equal length, not one of records: a walk copies and compares them.

    `owners` and `numbers` are the two halves of each line's origin. `gaps[n]` are the patches that deleted lines
    just before line n (tombstones): one longer than `lines`. `maker` created or moved the file, `moder` changed its
    mode; both empty for the base.
    """

    lines: list[bytes]
    owners: list[str]
    numbers: list[int]
    gaps: list[frozenset[str]]
    mode: str = "100644"
    maker: str = ""
    moder: str = ""

    def copy(self) -> Text:
        lists = (list(self.lines), list(self.owners), list(self.numbers), list(self.gaps))
        return Text(*lists, self.mode, self.maker, self.moder)

    def data(self) -> bytes:
        return b"".join(self.lines)

    def origins(self, at: int, size: int) -> tuple[Origin, ...]:
        return tuple(zip(self.owners[at : at + size], self.numbers[at : at + size], strict=True))

    def find(self, origin: Origin) -> int:
        """The index of the line of that origin, or -1."""
        owner, number = origin
        at = -1
        while True:
            try:
                at = self.numbers.index(number, at + 1)
            except ValueError:
                return -1
            if self.owners[at] == owner:
                return at


def text_of(data: bytes, mode: str, owner: str = "", numbers: Sequence[int] = ()) -> Text:
    """A file of the base, or one that `owner` creates (`numbers`: its lines in the patch file)."""
    lines = split_lines(data)
    size = len(lines)
    return Text(lines, [owner] * size, list(numbers or range(1, size + 1)), [NOBODY] * (size + 1), mode, owner, owner)


def split_lines(data: bytes) -> list[bytes]:
    """Lines with their ends. Only LF ends one; the quick way of Python takes a CR for an end too."""
    if b"\r" not in data:
        return data.splitlines(keepends=True)
    parts = [part + b"\n" for part in data.split(b"\n")]
    last = parts.pop()[:-1]
    return parts + ([last] if last else [])


def pre_numbers(hunk: Hunk) -> list[int]:
    """Lines of the patch file that hold the pre-image."""
    return [number for line, number in zip(hunk.lines, hunk.numbers, strict=True) if not line.startswith(b"+")]


def holds_start(hunk: Hunk) -> bool:
    return hunk.old_start <= 1


def holds_end(hunk: Hunk) -> bool:
    return not hunk.lines or not hunk.lines[-1].startswith(b" ")


def reverse(hunk: Hunk) -> Hunk:
    swapped = {b"-": b"+", b"+": b"-"}
    lines = tuple(swapped.get(line[:1], b" ") + line[1:] for line in hunk.lines)
    return Hunk(hunk.line, hunk.new_start, hunk.new_count, hunk.old_start, hunk.old_count, lines, hunk.numbers)


def fits(lines: list[bytes], hunk: Hunk, taken: Sequence[range] = ()) -> list[int]:
    """Every index where the hunk's old side matches whole. Lines that an earlier hunk placed are `taken`."""
    wanted = hunk.old_lines
    places = range(len(lines) - len(wanted) + 1)
    if holds_start(hunk):
        places = places[:1]
    if holds_end(hunk):
        places = places[-1:]
    if len(places) > 1 and wanted:
        probe = max(range(len(wanted)), key=lambda n: len(wanted[n]))  # a long line is seldom there twice
        found = _where(lines, wanted[probe], range(places.start + probe, places.stop + probe))
        return [at - probe for at in found if fits_at(lines, hunk, at - probe, taken)]
    return [at for at in places if fits_at(lines, hunk, at, taken)]


def _where(lines: list[bytes], line: bytes, within: range) -> list[int]:
    found: list[int] = []
    at = within.start
    try:
        while True:
            found.append(lines.index(line, at, within.stop))
            at = found[-1] + 1
    except ValueError:
        return found


def fits_at(lines: list[bytes], hunk: Hunk, at: int, taken: Sequence[range] = ()) -> bool:
    wanted = hunk.old_lines
    end = at + len(wanted)
    if at < 0 or end > len(lines) or (at and holds_start(hunk)) or (end < len(lines) and holds_end(hunk)):
        return False
    return lines[at:end] == wanted and not any(at < place.stop and place.start < end for place in taken)


@dataclass(frozen=True)
class Place:
    """Where a hunk goes (`at` counts from 0), or None and every place where it could go."""

    at: int | None
    candidates: tuple[int, ...] = ()


def choose(found: Sequence[int], stated: int, carry: int) -> Place:
    """The stated place; else the one shifted like the hunk before it (`carry`); else the only one there is."""
    expected = stated + carry
    if expected in found and (carry == 0 or stated not in found):
        return Place(expected)
    if len(found) == 1:
        return Place(found[0])
    return Place(None, tuple(found))


def choice_of_git(found: Sequence[int], stated: int) -> int:
    """The nearest, forward first: what git would take in silence."""
    return min(found, key=lambda at: (abs(at - stated), at < stated))


def splice(text: Text, hunk: Hunk, at: int, owner: str) -> None:
    """Put the hunk's new side at index `at`, where its old side was found to match."""
    lines: list[bytes] = []
    owners: list[str] = []
    numbers: list[int] = []
    gaps = [text.gaps[at]]
    old = at
    for content, number in zip(hunk.lines, hunk.numbers, strict=True):
        if content.startswith(b"+"):
            lines.append(content[1:])
            owners.append(owner)
            numbers.append(number)
            gaps.append(NOBODY)
            continue
        after = text.gaps[old + 1]
        if content.startswith(b"-"):
            if after or owner not in gaps[-1]:
                gaps[-1] = gaps[-1] | after | {owner}
        else:
            lines.append(text.lines[old])
            owners.append(text.owners[old])
            numbers.append(text.numbers[old])
            gaps.append(after)
        old += 1
    text.lines[at:old], text.owners[at:old], text.numbers[at:old] = lines, owners, numbers
    text.gaps[at : old + 1] = gaps


@dataclass(frozen=True)
class Mismatch:
    """The first line that does not fit at the likeliest place; `mark` is its first byte in the patch.

    `file_has` is None past the file's end.
    """

    stale_line: int
    stale_text: str
    file_line: int
    file_has: str | None
    mark: str = " "
    anchored: bool = False  # the text is there, but the hunk may only go to the start or the end of the file


def mismatch(lines: Sequence[bytes], hunk: Hunk, stated: int) -> Mismatch:
    wanted = hunk.old_lines
    numbers = pre_numbers(hunk)

    def matching(at: int) -> int:
        return sum(map(eq, lines[at : at + len(wanted)], wanted))

    best = max(range(len(lines) + 1), key=lambda at: (matching(at), -abs(at - stated)))
    window = lines[best : best + len(wanted)]
    wrong = next((n for n, text in enumerate(wanted) if n >= len(window) or window[n] != text), None)
    if wrong is None:
        return Mismatch(hunk.line, "", best + 1, None, anchored=True)
    has = _shown(window[wrong]) if wrong < len(window) else None
    mark = hunk.lines[hunk.numbers.index(numbers[wrong])][:1].decode()
    return Mismatch(numbers[wrong], _shown(wanted[wrong]), best + wrong + 1, has, mark)


def _shown(text: bytes) -> str:
    """As it is read, but a CR shows."""
    return text.removesuffix(b"\n").decode("utf-8", "replace").replace("\r", "\\r")
