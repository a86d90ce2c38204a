"""A queue for pure tests, made of the versions of its files: each patch is the diff from one version to the next."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from stackctl.core.names import PatchName
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.state import Base
from stackctl.core.patches.walk import Walk, walk_series

Files = Mapping[str, str]


def walked(base: Files, *steps: tuple[str, Files], needs: Mapping[str, str] | None = None) -> Walk:
    """`steps`: the name of each patch, and the files that it changes as they are after it. `needs`: its trailer."""
    now, entries = dict(base), []
    for name, files in steps:
        trailer = f"\n\nNeeds: {needs[name]}" if needs and name in needs else ""
        text = f"Subject: {name}{trailer}\n\n" + "".join(_diff(path, now.get(path), new) for path, new in files.items())
        parsed = parse(text.encode(), f"patches/{name}.patch")
        assert isinstance(parsed, ParsedPatch), parsed
        entries.append((PatchName(name), parsed))
        now |= files
    modes = dict.fromkeys(base, "100644")
    walk = walk_series(Base(modes, {path: text.encode() for path, text in base.items()}), entries)
    assert not walk.faults, walk.faults
    return walk


def _diff(path: str, old: str | None, new: str) -> str:
    names = ("/dev/null" if old is None else f"a/{path}", f"b/{path}")
    lines: Sequence[str] = (old or "").splitlines(keepends=True)
    return "".join(difflib.unified_diff(lines, new.splitlines(keepends=True), *names))
