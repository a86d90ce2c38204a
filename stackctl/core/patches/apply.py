"""Places hunks in a file that remembers who wrote each line, by git's rule but never by its guesses.

Git's rule: all context must match; a hunk stated at line 1 fits only at the start, one without trailing context
only at the end. Ours adds: where the stated place does not fit and several others do, nothing is chosen. The tree
itself is made by git; this module says where things land, and why they do not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stackctl.core.patches.values import Hunk


class Line(NamedTuple):
    """`owner` is the patch that wrote it, empty for the base; `number` is its line there. Both name it for good."""

    text: bytes
    owner: str
    number: int


Origin = tuple[str, int]


@dataclass
class Text:
    """A file in the middle of a queue.

    `gaps[n]` are the patches that deleted lines just before line n (tombstones): one longer than `lines`.
    `maker` created or moved the file, `moder` changed its mode; both empty for the base.
    """

    lines: list[Line]
    gaps: list[frozenset[str]]
    mode: str = "100644"
    maker: str = ""
    moder: str = ""

    def copy(self) -> Text:
        return Text(list(self.lines), list(self.gaps), self.mode, self.maker, self.moder)

    def data(self) -> bytes:
        return b"".join(line.text for line in self.lines)


def text_of(data: bytes, mode: str, owner: str = "", numbers: Sequence[int] = ()) -> Text:
    """A file of the base, or one that `owner` creates (`numbers`: its lines in the patch file)."""
    parts = split_lines(data)
    lines = [Line(part, owner, numbers[at] if numbers else at + 1) for at, part in enumerate(parts)]
    return Text(lines, [frozenset()] * (len(lines) + 1), mode, owner, owner)


def split_lines(data: bytes) -> list[bytes]:
    parts = [part + b"\n" for part in data.split(b"\n")]
    last = parts.pop()[:-1]
    return parts + ([last] if last else [])


def pre_image(hunk: Hunk) -> list[bytes]:
    return [line[1:] for line in hunk.lines if not line.startswith(b"+")]


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


def fits(lines: Sequence[Line], hunk: Hunk, taken: Collection[Origin] = ()) -> list[int]:
    """Every index where the hunk's old side matches whole. Lines that an earlier hunk placed are `taken`."""
    wanted = pre_image(hunk)
    last = len(lines) - len(wanted)
    places = range(last + 1)
    if holds_start(hunk):
        places = places[:1]
    if holds_end(hunk):
        places = places[-1:] if last in places else range(0)
    return [at for at in places if _matches(lines, wanted, at, taken)]


def _matches(lines: Sequence[Line], wanted: Sequence[bytes], at: int, taken: Collection[Origin]) -> bool:
    if wanted and lines[at].text != wanted[0]:
        return False
    window = lines[at : at + len(wanted)]
    return all(
        line.text == text and (line.owner, line.number) not in taken for line, text in zip(window, wanted, strict=True)
    )


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
    lines: list[Line] = []
    gaps: list[frozenset[str]] = [text.gaps[at]]
    old = at
    for content, number in zip(hunk.lines, hunk.numbers, strict=True):
        if content.startswith(b"+"):
            lines.append(Line(content[1:], owner, number))
            gaps.append(frozenset())
            continue
        after = text.gaps[old + 1]
        if content.startswith(b"-"):
            gaps[-1] = gaps[-1] | after | {owner}
        else:
            lines.append(text.lines[old])
            gaps.append(after)
        old += 1
    text.lines[at:old] = lines
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


def mismatch(lines: Sequence[Line], hunk: Hunk, stated: int) -> Mismatch:
    wanted = pre_image(hunk)
    numbers = pre_numbers(hunk)

    def matching(at: int) -> int:
        return sum(line.text == text for line, text in zip(lines[at : at + len(wanted)], wanted, strict=False))

    best = max(range(len(lines) + 1), key=lambda at: (matching(at), -abs(at - stated)))
    window = [line.text for line in lines[best : best + len(wanted)]]
    wrong = next((n for n, text in enumerate(wanted) if n >= len(window) or window[n] != text), None)
    if wrong is None:
        return Mismatch(hunk.line, "", best + 1, None, anchored=True)
    has = _shown(window[wrong]) if wrong < len(window) else None
    mark = hunk.lines[hunk.numbers.index(numbers[wrong])][:1].decode()
    return Mismatch(numbers[wrong], _shown(wanted[wrong]), best + wrong + 1, has, mark)


def _shown(text: bytes) -> str:
    """As it is read, but a CR shows."""
    return text.removesuffix(b"\n").decode("utf-8", "replace").replace("\r", "\\r")
