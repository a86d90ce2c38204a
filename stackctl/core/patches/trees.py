"""Ids of trees from the ids of their files, without git: what a tree would be called, before anybody writes it.

Only the folders on the way to a changed file are hashed, and a folder that was seen with the same changes is not
hashed again. Nothing is written; a tree that is wanted for more than its name is made by git.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha1

from stackctl.core.names import TreeId

Listing = Mapping[str, tuple[str, str]]  # path -> mode, blob id
Changes = Mapping[str, tuple[str, str] | None]  # the same; None: the file is gone

# A folder's entries are kept as git writes them, by the name that git sorts them by (a folder's ends in a slash).
_Entries = dict[bytes, bytes]
_Edits = dict[bytes, bytes | None]


def blob_id(data: bytes) -> str:
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class Trees:
    """Trees that differ from the one of `listing`, whose id is `root`."""

    def __init__(self, listing: Listing) -> None:
        self._folders: dict[str, _Entries] = {}
        self._known: dict[tuple[str, tuple[tuple[bytes, bytes | None], ...]], bytes | None] = {}
        edits = _by_folder(listing.items())
        for folder in _deepest_first(edits):
            self._folders[folder] = {name: entry for name, entry in edits[folder].items() if entry is not None}
            _tell_parent(edits, folder, _digest(self._folders[folder]))
        self.root = TreeId((_digest(self._folders.get("", {})) or _EMPTY).hex())

    def tree_id(self, changes: Changes) -> TreeId:
        edits = _by_folder(changes.items())
        found: bytes | None = bytes.fromhex(self.root)
        for folder in _deepest_first(edits):
            found = self._folder_id(folder, edits[folder])
            _tell_parent(edits, folder, found)
        return TreeId((found or _EMPTY).hex())

    def _folder_id(self, folder: str, edits: _Edits) -> bytes | None:
        """None when nothing is left in it: git knows no empty folders."""
        key = (folder, tuple(sorted(edits.items())))
        if key not in self._known:
            entries: _Edits = {**self._folders.get(folder, {}), **edits}
            self._known[key] = _digest({name: entry for name, entry in entries.items() if entry is not None})
        return self._known[key]


def _by_folder(files: Iterable[tuple[str, tuple[str, str] | None]]) -> dict[str, _Edits]:
    edits: dict[str, _Edits] = {"": {}}
    for path, found in files:
        folder, _, name = path.rpartition("/")
        raw = name.encode("utf-8", "surrogateescape")
        entry = b"%s %s\0%s" % (found[0].encode(), raw, bytes.fromhex(found[1])) if found else None
        if folder not in edits:
            _with_parents(edits, folder)
        edits[folder][raw] = entry
    return edits


def _with_parents(edits: dict[str, _Edits], folder: str) -> None:
    while folder not in edits:
        edits[folder] = {}
        folder = folder.rpartition("/")[0]


def _deepest_first(folders: Iterable[str]) -> list[str]:
    return sorted(folders, key=lambda folder: folder.count("/") + bool(folder), reverse=True)


def _tell_parent(edits: dict[str, _Edits], folder: str, found: bytes | None) -> None:
    if folder:
        parent, _, name = folder.rpartition("/")
        raw = name.encode("utf-8", "surrogateescape")
        edits[parent][raw + b"/"] = b"40000 %s\0%s" % (raw, found) if found else None


def _digest(entries: _Entries) -> bytes | None:
    if not entries:
        return None
    body = b"".join([entries[name] for name in sorted(entries)])
    return sha1(b"tree %d\0" % len(body) + body, usedforsecurity=False).digest()


_EMPTY = sha1(b"tree 0\0", usedforsecurity=False).digest()
