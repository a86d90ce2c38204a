"""The very lines that make one patch need another: in both patch files, and in the file of the tree.

It goes over the series once more, up to the patch in question, and reads off what its hunks found there. It shows
needs that the walk has found; it finds none itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from stackctl.core.names import PatchName
from stackctl.core.patches.apply import Origin, pre_numbers
from stackctl.core.patches.state import Base, State, Step, Windows, take
from stackctl.core.patches.values import Hunk, Need, Patch


@dataclass(frozen=True)
class Evidence:
    """One line of a need. Lines count from 1, texts are as in the file, without the line end.

    `line` is of the needing patch's file, `other_line` of the other's; `tree_line` is of `file` as the needing patch
    finds it: the line itself, or for a tombstone the one after the place where lines are gone.
    """

    reason: str
    line: int
    text: str
    other_line: int | None = None
    other_text: str | None = None
    file: str | None = None
    tree_line: int | None = None


def evidence(base: Base, patches: Sequence[Patch], windows: Windows, step: Need) -> tuple[Evidence, ...]:
    """Every line for which `step.patch` needs `step.needs`, in the order of its file. `patches`: the whole series."""
    by_name = {patch.name: patch for patch in patches}
    patch, other = by_name[step.patch], by_name[step.needs]
    if step.reason == "declared":
        line = step.line or 1
        return (Evidence("declared", line, _text(patch, line)),)
    state = State(base)
    for earlier in patches:
        if earlier.name == patch.name:
            break
        state, _ = take(state, earlier, windows)
    taken = take(state, patch, windows)[1]
    seen = _Seen(patch, other, state, taken, windows)
    found = (_of_need(need, seen) for need in taken.needs if need.needs == other.name)
    return tuple(sorted(set(found), key=lambda one: (one.line, one.other_line or 0)))


@dataclass(frozen=True)
class _Seen:
    """Both patches, the files as `patch` finds them, and the lines that all hunks read."""

    patch: Patch
    other: Patch
    state: State
    taken: Step
    windows: Windows

    def line_of(self, file: str, origin: Origin) -> int | None:
        """Where a line stands in a file, which the patch itself may move."""
        old = next((section.old for section in self.patch.files if section.path == file and section.old), file)
        text = self.state.text(old)
        return text.find(origin) + 1 or None if text else None

    def window(self, line: int) -> tuple[tuple[Origin, ...], int]:
        """The origins of the lines that the hunk around `line` reads, and which of them `line` is."""
        for section in self.patch.files:
            for hunk in section.hunks:
                numbers = pre_numbers(hunk)
                if line in numbers:
                    return self.taken.windows[self.patch.name, hunk.line], numbers.index(line)
        return (), 0

    def deleted(self, file: str, near: Collection[Origin]) -> list[int]:
        """Lines that `other` takes out of the file: those beside the place if they can be told, else all."""
        hunks = [hunk for section in self.other.files if file in (section.old, section.new) for hunk in section.hunks]
        beside = [hunk for hunk in hunks if any(self._is_at(hunk, origin) for origin in near)]
        return [number for hunk in beside or hunks for number in _minus(hunk)]

    def _is_at(self, hunk: Hunk, origin: Origin) -> bool:
        wrote = origin[0] == self.other.name and origin[1] in hunk.numbers
        return wrote or origin in self.windows.get((self.other.name, hunk.line), ())


def _of_need(need: Need, seen: _Seen) -> Evidence:
    line, file = need.line or 1, need.file or ""
    text = _text(seen.patch, line)
    if need.reason == "file":
        places = [section.line for section in seen.other.files if file in (section.old, section.new)]
        return Evidence("file", line, text, *_first(seen.other, places), file)
    window, at = seen.window(line)
    place = seen.line_of(file, window[at]) if window else None
    if need.reason != "tombstone":
        number = window[at][1]
        return Evidence(need.reason, line, text, number, _text(seen.other, number), file, place)
    gone = seen.deleted(file, window[max(at - 1, 0) : at + 1])
    return Evidence(need.reason, line, text, *_first(seen.other, gone), file, place)


def _minus(hunk: Hunk) -> list[int]:
    return [number for line, number in zip(hunk.lines, hunk.numbers, strict=True) if line.startswith(b"-")]


def _first(patch: Patch, lines: Sequence[int]) -> tuple[int | None, str | None]:
    return (lines[0], _text(patch, lines[0])) if lines else (None, None)


def _text(patch: Patch, line: int) -> str:
    lines = patch.data.split(b"\n")
    return lines[line - 1].decode("utf-8", "surrogateescape").removesuffix("\r") if line <= len(lines) else ""


def neighbours(patches: Sequence[Patch], one: PatchName, two: PatchName) -> tuple[str, ...]:
    """Files that both patches touch, though neither needs the other."""
    touched = [
        {path for section in patch.files for path in (section.old, section.new) if path}
        for patch in patches
        if patch.name in (one, two)
    ]
    return tuple(sorted(set.intersection(*touched))) if touched else ()
