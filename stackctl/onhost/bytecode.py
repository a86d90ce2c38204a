"""Gives a tree its bytecode, so that no start has to compile a thousand modules again.

Each file carries the hash of its source and Python checks it at import, so stale bytecode cannot run. What another
tree of the stack has for equal sources is linked, the rest compiled, by the interpreter that runs this. All of it is
written down beside the tree: what is not, is removed before a start, and what was changed is refused.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from stackctl.onhost import procs, tree

FEW = 40  # files that one process compiles sooner than several could start
SIBLINGS = 3  # trees that are asked for theirs: the newest
MAGIC = f"{sys.implementation.cache_tag} {importlib.util.MAGIC_NUMBER.hex()}"


def complete(trees: Path, name: str) -> None:
    """Whatever fails here costs time at a start, and nothing else."""
    known = procs.read_json(trees / (name + ".json"))
    if not isinstance(known, dict) or not (trees / name).is_dir():
        return
    have = known.get("bytecode") or {}
    files, broken = (have["files"], have["broken"]) if have.get("magic") == MAGIC else ({}, [])
    wanted = {
        importlib.util.cache_from_source(path): (path, blob)
        for path, (mode, blob) in known["files"].items()
        if path.endswith(".py") and mode != tree.LINK
    }
    made = {place: blob for place, blob in files.items() if place in wanted and (trees / name / place).is_file()}
    rest = {place: source for place, source in wanted.items() if place not in made and place not in broken}
    if not rest and made == files:
        return
    made.update(_linked(trees, name, rest))
    _compile(trees / name, [path for place, (path, _) in rest.items() if place not in made])
    for place in set(rest) - set(made):
        with contextlib.suppress(OSError):  # a source that does not compile: whoever imports it will say so
            made[place] = tree.found_at(trees / name / place)[1]
    found = {"magic": MAGIC, "files": made, "broken": sorted(set(wanted) - set(made))}
    tree.write_json(trees / (name + ".json"), dict(known, bytecode=found))


def _linked(trees: Path, name: str, wanted: dict[str, tuple[str, str]]) -> dict[str, str]:
    """place -> blob of what other trees had. They are never opened to be written, only replaced."""
    pool: dict[str, tuple[Path, str]] = {}
    others = [path for path in trees.glob("*.json") if path.stem != name]
    for path in sorted(others, key=os.path.getmtime, reverse=True)[:SIBLINGS]:
        known = procs.read_json(path)
        if isinstance(known, dict):
            pool.update(_pool(trees / path.stem, known))
    made = {}
    for place, (_, source) in wanted.items():
        if source in pool and _link(*pool[source], trees / name / place):
            made[place] = pool[source][1]
    return made


def _pool(folder: Path, known: dict[str, Any]) -> dict[str, tuple[Path, str]]:
    """blob of a source -> its bytecode in this tree, and the blob of that."""
    have = known.get("bytecode") or {}
    if have.get("magic") != MAGIC:
        return {}
    places = {importlib.util.cache_from_source(path): blob for path, (_, blob) in known["files"].items()}
    return {places[place]: (folder / place, blob) for place, blob in have["files"].items() if place in places}


def _link(there: Path, blob: str, place: Path) -> bool:
    try:
        if tree.found_at(there)[1] != blob:
            return False
        place.parent.mkdir(exist_ok=True)
        if os.path.lexists(place):
            os.unlink(place)
        os.link(there, place)
    except OSError:
        return False
    return True


def _compile(folder: Path, paths: list[str]) -> None:
    if not paths:
        return
    jobs = "1" if len(paths) < FEW else "0"
    argv = [sys.executable, "-I", "-S", "-m", "compileall", "-q", "-j", jobs, "-i", "-"]
    lines = "".join(path + "\n" for path in paths).encode()
    subprocess.run([*argv, "--invalidation-mode", "checked-hash"], input=lines, cwd=folder, capture_output=True)
