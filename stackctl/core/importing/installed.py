"""Compares an installation with a tree, file by file: what was changed, added, taken away, and what has no explanation.

An installation holds names below one folder of the tree (`sglang/…` of a site-packages is `python/sglang/…`). That
folder is found by looking, and refused where two fit. What is no source text is never put into a patch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stackctl.core.importing.roots import BACKUP
from stackctl.core.patches.agree import Listing
from stackctl.core.patches.names import name_fault

PROBES = 40  # files that are looked for to find the folder
ENOUGH = 0.6  # of them must be there
LINK = "120000"
JUNK = frozenset(
    (".git", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".idea", ".vscode", ".ipynb_checkpoints")
)


@dataclass(frozen=True)
class Found:
    """A file there: names are of the tree."""

    mode: str
    blob: str
    size: int


@dataclass(frozen=True)
class Compared:
    """Paths of the tree. `as_base`: the queue changes them, and here they are as the base has them."""

    modified: tuple[str, ...]
    added: tuple[str, ...]
    missing: tuple[str, ...]
    as_base: tuple[str, ...]
    backups: tuple[str, ...]
    unexplained: tuple[tuple[str, str], ...]

    @property
    def wanted(self) -> tuple[str, ...]:
        """Whose contents a patch needs."""
        return (*self.modified, *self.added)


def candidates(listing: Listing) -> dict[str, tuple[str, ...]]:
    """Folders that hold most of the tree (`` for its top) -> some files to look for, relative to them."""
    counts: dict[str, int] = {"": len(listing)}
    for path in listing:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            counts[folder] = counts.get(folder, 0) + 1
    big = [folder for folder, count in counts.items() if 2 * count >= len(listing)]
    return {folder: probes(listing, folder) for folder in big}


def probes(listing: Listing, folder: str) -> tuple[str, ...]:
    inside = [path[len(folder) + 1 :] if folder else path for path in sorted(listing) if below(path, folder)]
    step = max(1, len(inside) // PROBES)
    return tuple(inside[::step][:PROBES])


def below(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def fitting(tried: Mapping[str, Sequence[str]], found: Sequence[int]) -> tuple[str, ...]:
    """The folders whose probes are there."""
    return tuple(
        folder for (folder, asked), hits in zip(tried.items(), found, strict=True) if hits >= ENOUGH * len(asked) > 0
    )


def tops(listing: Listing, folder: str) -> tuple[str, ...]:
    """First names below the folder: what of an installation belongs to the tree."""
    start = len(folder) + 1 if folder else 0
    return tuple(sorted({path[start:].partition("/")[0] for path in listing if below(path, folder)}))


def compare(start: Listing, base: Listing, found: Mapping[str, Found], odd: Mapping[str, str], folder: str) -> Compared:
    """`start` is the tree that a patch would stand on, `base` the pinned one; both hold paths of the tree.

    `odd`: what is there but is no file that can be read, and what it is.
    """
    modified, added, as_base, backups = list[str](), list[str](), list[str](), list[str]()
    unexplained = [(path, what) for path, what in odd.items() if start.get(path, ("",))[0] != LINK]
    for path, file in sorted(found.items()):
        here = (file.mode, file.blob)
        if start.get(path) == here or set(path.split("/")) & JUNK:
            continue
        fault = name_fault(path)
        if fault:
            unexplained.append((path, fault.reason))
        elif path not in start and BACKUP.search(path):
            backups.append(path)
        elif base.get(path) == here:
            as_base.append(path)
        else:
            (modified if path in start else added).append(path)
    missing = [
        path
        for path in sorted(start)
        if below(path, folder) and path not in found and path not in odd and start[path][0] != LINK
    ]
    as_base += [path for path in missing if path not in base]
    gone = [path for path in missing if path in base]
    return Compared(
        tuple(modified), tuple(added), tuple(gone), tuple(as_base), tuple(backups), tuple(sorted(unexplained))
    )
