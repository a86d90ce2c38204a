"""Turns parsed files into the patches of a series: names of the tree, one strip level a patch, no name twice.

The strip level is found by testing against the files that are there when the patch's turn comes, on all files of
the patch at once. Where two levels fit, or an installation folder is written before the names, nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from stackctl.core.names import Digest, PatchName
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.parse import ParsedFile, ParsedPatch
from stackctl.core.patches.values import FilePatch, Patch

LEVELS = range(4)
INSTALLED = ("site-packages", "dist-packages")


def duplicate_names(names: Sequence[PatchName], files: Sequence[str]) -> tuple[Fault, ...]:
    """Entries of a series that name the same patch, counted from 1."""
    first: dict[PatchName, int] = {}
    faults = []
    for entry, (name, file) in enumerate(zip(names, files, strict=True), 1):
        if name in first:
            message = f"{name} is entry {first[name]} and entry {entry} of the series"
            facts = {"entries": [first[name], entry]}
            faults.append(Fault("duplicate-name", file, None, message, "Name each patch once.", facts))
        first.setdefault(name, entry)
    return tuple(faults)


def names_at_all_levels(patch: ParsedPatch) -> set[str]:
    """Every name that the patch could mean: what to ask the base for before the level is known."""
    found = (stripped(section, name, level) for section in patch.files for name in section.names for level in LEVELS)
    return {name for name in found if name is not None}


def stripped(section: ParsedFile, name: str, level: int) -> str | None:
    """The name without `level` leading folders; None when it has not so many. Git's rename lines bear no prefix."""
    take = max(level - 1, 0) if section.moves else level
    parts = name.split("/")
    return "/".join(parts[take:]) if take < len(parts) else None


def strip_level(patch: ParsedPatch, exists: Callable[[str], bool]) -> int | Fault:
    """The one level at which every old file is there."""
    olds = [(section, section.old) for section in patch.files if section.old is not None]

    def found(level: int) -> int:
        names = [stripped(section, name, level) for section, name in olds]
        return sum(name is not None and exists(name) for name in names)

    usual = 1 if all(_prefixed(section) for section in patch.files) else None
    if not olds:
        return usual if usual is not None else _level_of_new_files(patch)
    if usual is not None and found(usual) == len(olds):
        return usual
    names = [(section, name) for section in patch.files for name in section.names]
    deep = [level for level in LEVELS if all(stripped(section, name, level) is not None for section, name in names)]
    whole = [level for level in deep if found(level) == len(olds)]
    if len(whole) == 1:
        return whole[0]
    if whole:
        message = f"its names fit the base with {' and with '.join(map(str, whole))} leading folders taken off"
        return Fault("no-strip-level", patch.file, patch.files[0].line, message, _EXPORT)
    misplaced = next((section for section, name in olds if set(name.split("/")) & set(INSTALLED)), None)
    if misplaced:
        message = "its names begin with an installation folder, which is no part of the source tree"
        return Fault("no-strip-level", patch.file, misplaced.line, message, _EXPORT)
    return usual if usual is not None else max(deep, key=lambda level: (found(level), level == 1))


_EXPORT = "Export it from a checkout of the base, with names like a/python/… and b/python/…."


def settle(name: PatchName, patch: ParsedPatch, level: int) -> Patch:
    """The patch with the names of the tree."""
    files = tuple(_file_patch(section, level) for section in patch.files)
    digest = Digest(sha256(patch.data).hexdigest())
    return Patch(name, patch.file, patch.data, digest, patch.header, files, level, patch.warnings)


def renumbered(patch: Patch, landings: dict[int, int]) -> bytes:
    """The patch's bytes with new starts for some hunks (`landings`: line of the @@ -> line of the new file)."""
    lines = patch.data.split(b"\n")
    for line, start in landings.items():
        before, plus, after = lines[line - 1].partition(b" +")
        digits = len(after) - len(after.lstrip(b"0123456789"))
        lines[line - 1] = before + plus + str(start).encode() + after[digits:]
    return b"\n".join(lines)


def _prefixed(section: ParsedFile) -> bool:
    if section.moves:
        return True
    return (section.old or "a/").startswith("a/") and (section.new or "b/").startswith("b/")


def _level_of_new_files(patch: ParsedPatch) -> int:
    return 1 if all("/" in name for section in patch.files for name in section.names) else 0


def _file_patch(section: ParsedFile, level: int) -> FilePatch:
    old = None if section.old is None else stripped(section, section.old, level) or section.old
    new = None if section.new is None else stripped(section, section.new, level) or section.new
    old_mode = section.mode(b"old mode ", b"deleted file mode ")
    new_mode = section.mode(b"new mode ", b"new file mode ")
    return FilePatch(
        old,
        new,
        tuple(section.hunks),
        old_mode[1] if old_mode else None,
        new_mode[1] if new_mode else None,
        rename=b"rename from " in section.fields,
        copy=b"copy from " in section.fields,
        line=section.line,
        mode_line=new_mode[0] if new_mode else None,
    )
