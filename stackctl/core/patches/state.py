"""The files of a base while a series goes over them, and the taking of one patch: whole, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from stackctl.core.names import PatchName
from stackctl.core.patches.apply import (
    Origin,
    Place,
    Text,
    choice_of_git,
    choose,
    fits,
    fits_at,
    reverse,
    splice,
    text_of,
)
from stackctl.core.patches.depend import needs_of_hunk
from stackctl.core.patches.explain import ambiguous, conflict, of_file
from stackctl.core.patches.faults import Fault, Refused
from stackctl.core.patches.values import FilePatch, Hunk, Need, Patch

Windows = Mapping[tuple[PatchName, int], tuple[Origin, ...]]
LINK = "120000"


@dataclass(frozen=True)
class Landing:
    """A hunk that was placed. `at`: its first line in the new file, from 1; `git_at`: where git would put it."""

    patch: PatchName
    file: str
    hunk: int
    line: int
    at: int
    offset: int
    git_at: int


@dataclass(frozen=True)
class Base:
    """What may be looked at: every path with its mode, and the contents of those that patches touch."""

    modes: Mapping[str, str]
    contents: Mapping[str, bytes]

    @cached_property
    def folders(self) -> frozenset[str]:
        found: set[str] = set()
        for folder in {path.rpartition("/")[0] for path in self.modes}:
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)


@dataclass
class State:
    """Files as the series has made them so far; a path that is not in `texts` is as in the base."""

    base: Base
    texts: dict[str, Text | None] = field(default_factory=dict)
    removers: dict[str, str] = field(default_factory=dict)

    def copy(self) -> State:
        return State(self.base, dict(self.texts), dict(self.removers))

    def exists(self, path: str) -> bool:
        return self.mode(path) is not None

    def mode(self, path: str) -> str | None:
        if path in self.texts:
            text = self.texts[path]
            return text.mode if text else None
        return self.base.modes.get(path)

    def is_folder(self, path: str) -> bool:
        """Whether it has files."""
        beginning = path + "/"
        if any(name.startswith(beginning) and text for name, text in self.texts.items()):
            return True
        below = path in self.base.folders
        return below and any(name.startswith(beginning) and self.exists(name) for name in self.base.modes)

    def text(self, path: str) -> Text | None:
        """A copy, to be changed and put back."""
        if path in self.texts:
            text = self.texts[path]
            return text.copy() if text else None
        mode = self.base.modes.get(path)
        return None if mode is None else text_of(self.base.contents.get(path, b""), mode)


@dataclass
class Step:
    """What one patch did; with a fault, nothing of it counts."""

    needs: list[Need] = field(default_factory=list)
    landings: list[Landing] = field(default_factory=list)
    windows: dict[tuple[PatchName, int], tuple[Origin, ...]] = field(default_factory=dict)
    fault: Fault | None = None


def take(state: State, patch: Patch, windows: Windows | None = None) -> tuple[State, Step]:
    """The state after the patch, and what it did. `windows`: the lines that its hunks read in the whole series."""
    taking = _Taking(state.copy(), patch, windows or {})
    try:
        for section in patch.files:
            taking.section(section)
    except Refused as refused:
        return state, Step(fault=refused.fault)
    return taking.state, taking.step


def reverses(state: State, patch: Patch) -> bool:
    """Whether all of the patch can be taken back: then its change is there already."""
    files = tuple(_reversed(section) for section in reversed(patch.files))
    return take(state, replace(patch, files=files))[1].fault is None


def _reversed(section: FilePatch) -> FilePatch:
    return replace(
        section,
        old=section.new,
        new=section.old,
        old_mode=section.new_mode,
        new_mode=section.old_mode,
        hunks=tuple(reverse(hunk) for hunk in section.hunks),
    )


class _Taking:
    """One patch being taken; `state` is its own copy until all sections are done."""

    def __init__(self, state: State, patch: Patch, windows: Windows) -> None:
        self.state = state
        self.step = Step()
        self._patch = patch
        self._windows = windows

    def section(self, section: FilePatch) -> None:
        for path in {section.old or section.new or "", section.new or section.old or ""}:
            self._refuse_way(section, path)
        if section.old is None:
            self._create(section, section.new or "")
            return
        text = self._old_text(section, section.old)
        self._hunks(section, text)
        if section.new_mode and section.new is not None:
            text.mode, text.moder = section.new_mode, self._patch.name
        self._put(section, section.old, text)

    def _refuse_way(self, section: FilePatch, path: str) -> None:
        """No folder of the path may be a link or a file."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            mode = self.state.mode(folder)
            if mode == LINK:
                message = f"{path}: {folder} is a symbolic link, so this would write somewhere else"
                raise Refused(of_file("through-symlink", self._patch, section, message, "Name the file itself."))
            if mode is not None:
                message = f"{path}: {folder} is a file, not a folder"
                raise Refused(of_file("exists-already", self._patch, section, message))

    def _old_text(self, section: FilePatch, old: str) -> Text:
        text = self.state.text(old)
        if text is None:
            remover = self.state.removers.get(old)
            reason = f"{remover} took it away" if remover else "the base has no such file"
            raise Refused(of_file("missing-file", self._patch, section, f"{old}: {reason}"))
        if text.mode == LINK and section.hunks:
            message = f"{old} is a symbolic link, whose target is not to be patched"
            raise Refused(of_file("symlink", self._patch, section, message, "Patch the file that it points to."))
        moder = text.moder if section.old_mode or section.new_mode else ""
        self._need_file(section, old, text.maker, moder)
        return text

    def _need_file(self, section: FilePatch, path: str, *owners: str) -> None:
        for owner in owners:
            if owner and owner != self._patch.name:
                self.step.needs.append(Need(self._patch.name, PatchName(owner), "file", path, section.line))

    def _create(self, section: FilePatch, new: str) -> None:
        lines = [line for hunk in section.hunks for line in hunk.lines]
        if any(not line.startswith(b"+") for line in lines) or len(section.hunks) > 1:
            message = f"{new}: a file that is created has one hunk of added lines"
            raise Refused(of_file("corrupt-hunk", self._patch, section, message))
        data = b"".join(line[1:] for line in lines)
        self._refuse_existing(section, new)
        self._need_file(section, new, self.state.removers.get(new, ""))
        numbers = [number for hunk in section.hunks for number in hunk.numbers]
        self.state.texts[new] = text_of(data, section.new_mode or "100644", self._patch.name, numbers)

    def _refuse_existing(self, section: FilePatch, new: str) -> None:
        if self.state.exists(new) or self.state.is_folder(new):
            message = f"{new} is there already, and the patch creates it"
            raise Refused(of_file("exists-already", self._patch, section, message))

    def _put(self, section: FilePatch, old: str, text: Text) -> None:
        new = section.new
        if new is None:
            if text.lines:
                message = f"{old}: the patch deletes it, but {len(text.lines)} lines of it would be left"
                raise Refused(of_file("context-mismatch", self._patch, section, message))
            self.state.texts[old], self.state.removers[old] = None, self._patch.name
        elif new == old:
            self.state.texts[old] = text
        else:
            self._refuse_existing(section, new)
            if not section.copy:
                self.state.texts[old], self.state.removers[old] = None, self._patch.name
            self._need_file(section, new, self.state.removers.get(new, ""))
            text.maker = self._patch.name
            self.state.texts[new] = text

    def _hunks(self, section: FilePatch, text: Text) -> None:
        taken: list[range] = []
        carry = grown = 0
        for number, hunk in enumerate(section.hunks, 1):
            stated = max(hunk.new_start - 1, 0)
            place, git_at = self._place(text, hunk, taken, carry)
            if place.at is None:
                raise Refused(self._why_not(section, number, text, place, grown))
            at = place.at
            self._record(section, number, text, at)
            self.step.landings.append(
                Landing(self._patch.name, section.path, number, hunk.line, at + 1, at - stated, git_at + 1)
            )
            splice(text, hunk, at, self._patch.name)
            growth = hunk.new_count - hunk.old_count
            taken = [one if one.start < at else range(one.start + growth, one.stop + growth) for one in taken]
            taken.append(range(at, at + hunk.new_count))
            carry, grown = at - stated, grown + growth

    def _place(self, text: Text, hunk: Hunk, taken: list[range], carry: int) -> tuple[Place, int]:
        """Where it goes, and where git would put it: at its stated place, if it fits there."""
        stated = max(hunk.new_start - 1, 0)
        as_stated = fits_at(text.lines, hunk, stated, taken)
        window = self._windows.get((self._patch.name, hunk.line))
        found = [stated] if as_stated and (window or carry == 0) else fits(text.lines, hunk, taken)
        git_at = choice_of_git(found, stated) if found else stated
        if not window:
            return choose(found, stated, carry), git_at
        # where its lines are, if they still stand together; never where others look like them
        at = text.find(window[0])
        together = at >= 0 and text.origins(at, len(window)) == window
        return Place(at if together and fits_at(text.lines, hunk, at, taken) else None), git_at

    def _record(self, section: FilePatch, number: int, text: Text, at: int) -> None:
        hunk = section.hunks[number - 1]
        self.step.needs += needs_of_hunk(text, hunk, at, self._patch.name, section.path)
        self.step.windows[self._patch.name, hunk.line] = text.origins(at, len(hunk.old_lines))

    def _why_not(self, section: FilePatch, number: int, text: Text, place: Place, grown: int) -> Fault:
        if place.candidates:
            return ambiguous(self._patch, section, number, [at + 1 - grown for at in place.candidates])
        stated = max(section.hunks[number - 1].new_start - 1, 0)
        return conflict(self._patch, section, number, text, stated)
