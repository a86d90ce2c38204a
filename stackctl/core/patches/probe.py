"""Looks at one patch beside a tree: does it fit by its context alone, is it in already, and which hunks of it are."""

from __future__ import annotations

from dataclasses import dataclass

from stackctl.core.patches.apply import fits, reverse, split_lines
from stackctl.core.patches.state import State, Step, reverses, take
from stackctl.core.patches.values import FilePatch, Patch


@dataclass(frozen=True)
class Probe:
    """`after`: the files if it fits. `inside`: `path, hunk N` of each hunk that is in already, of `hunks` in all."""

    step: Step
    after: State
    reverses: bool
    inside: tuple[str, ...]
    hunks: int

    @property
    def fits(self) -> bool:
        return self.step.fault is None

    @property
    def offset(self) -> bool:
        return any(landing.offset for landing in self.step.landings)


def probe(state: State, patch: Patch) -> Probe:
    after, step = take(state, patch)
    inside = [words for section in patch.files for words in _inside(state, section)]
    hunks = sum(max(len(section.hunks), 1) for section in patch.files)
    return Probe(step, after, reverses(state, patch), tuple(inside), hunks)


def _inside(state: State, section: FilePatch) -> list[str]:
    """Hunks that cannot be put in but could be taken out; a file that is made or taken away counts as one."""
    text = state.text(section.path)
    if section.old is None or section.new is None:
        wanted = None if section.new is None else b"".join(line[1:] for hunk in section.hunks for line in hunk.lines)
        return [section.path] if (text.data() if text else None) == wanted else []
    if text is None:
        return []
    lines = split_lines(text.data())
    return [
        f"{section.path}, hunk {number}"
        for number, hunk in enumerate(section.hunks, 1)
        if fits(lines, reverse(hunk)) and not fits(lines, hunk)
    ]
