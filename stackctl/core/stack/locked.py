"""Reads a lock file back into values. lock.py writes it; what is not one is refused with the key that is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from stackctl.core.names import SGLANG, Digest, PatchName, TreeId
from stackctl.core.stack.lock import FORMAT


@dataclass(frozen=True)
class Locked:
    """`base`: the pin, as the file has it. `bases` and `trees` by source, before and after the patches."""

    stack: str
    base: Mapping[str, object]
    bases: Mapping[str, TreeId]
    trees: Mapping[str, TreeId]
    patches: tuple[tuple[PatchName, Digest], ...]


def read_lock(data: bytes) -> Locked:
    """Raises ValueError for what is no lock file of this format."""
    content = _mapping(json.loads(data), "the file")
    if content.get("format") != FORMAT:
        raise ValueError(f"format {content.get('format')}, this stackctl reads {FORMAT}")
    base = _mapping(content.get("base"), "base")
    sources = _mapping(content.get("sources", {}), "sources")
    bases, trees = {SGLANG: _tree(base, "base")}, {SGLANG: _tree(content, "the file")}
    for name, held in sources.items():
        source = _mapping(held, f"sources.{name}")
        bases[name] = _tree(_mapping(source.get("base"), f"sources.{name}.base"), f"sources.{name}.base")
        trees[name] = _tree(source, f"sources.{name}")
    listed = content.get("patches")
    if not isinstance(listed, list):
        raise ValueError("patches is no list")
    entries = [_mapping(one, f"patches.{number}") for number, one in enumerate(listed)]
    patches = tuple((PatchName(_text(one, "name")), Digest(_text(one, "sha256"))) for one in entries)
    return Locked(_text(content, "stack"), base, bases, trees, patches)


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no object")
    return value


def _tree(value: Mapping[str, object], what: str) -> TreeId:
    tree = value.get("tree")
    if not isinstance(tree, str) or len(tree) != 40 or set(tree) - set("0123456789abcdef"):
        raise ValueError(f"{what} has no tree id")
    return TreeId(tree)


def _text(value: Mapping[str, object], key: str) -> str:
    found = value.get(key)
    if not isinstance(found, str):
        raise ValueError(f"{key} is no text")
    return found
