"""Removes releases beyond the newest N of a stack, and trees and models that no release is left of.

Never what serves or is next.

argv[1] is a request in JSON: {root, keep, dry?}; the answer is JSON on stdout, what went, or with `dry` would go:
{releases: [{name, bytes}..], trees: [..], models: [..]}
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from stackctl.onhost import disk, procs


def main(request: dict[str, Any]) -> dict[str, Any]:
    root = Path(os.path.realpath(os.path.expanduser(request["root"])))
    dry = bool(request.get("dry"))
    folders = {folder.name: folder for folder in (root / "releases").glob("*") if folder.is_dir()}
    kept = _kept(root, folders, int(request["keep"]))
    models = {_said(folders[name], "model") for name in kept}
    trees = {tree for name in kept for tree in _trees(folders[name])}
    gone = {
        "releases": [disk.take_away(folders[name], dry=dry) for name in sorted(set(folders) - kept)],
        "trees": [
            disk.take_away(path, dry=dry)
            for path in sorted((root / "trees").glob("*"))
            if path.is_dir() and path.name not in trees
        ],
        "models": [
            disk.take_away(path, dry=dry) for path in sorted((root / "models").glob("*")) if path.name not in models
        ],
    }
    for item in gone["trees"] if not dry else ():
        (root / "trees" / (item["name"] + ".json")).unlink(missing_ok=True)
    return gone


def _kept(root: Path, folders: dict[str, Path], keep: int) -> set[str]:
    """`current`, `previous`, those of a running or unfinished cut-over, those with a process, and the newest."""
    status = procs.read_json(root / "status.json")
    named = {
        os.path.basename(os.readlink(root / link)) for link in ("current", "previous") if (root / link).is_symlink()
    }
    if isinstance(status, dict) and status.get("state") == "running":
        named |= {str(status.get("release")), str(status.get("old"))}
    named |= {item.release for item in procs.recorded(str(root)) if item.alive}
    newest = sorted(folders, key=lambda name: _when(folders[name]), reverse=True)
    return {name for name in (*newest[:keep], *named) if name in folders}


def _when(folder: Path) -> float:
    record = procs.read_json(folder / "record.json")
    return float(record["when"]) if isinstance(record, dict) else 0.0


def _trees(folder: Path) -> list[Any]:
    """Those of a release: sglang's, and of other sources."""
    record = procs.read_json(folder / "record.json")
    return [record.get("tree"), *record.get("sources", {}).values()] if isinstance(record, dict) else []


def _said(folder: Path, key: str) -> str | None:
    record = procs.read_json(folder / "record.json")
    return record.get(key) if isinstance(record, dict) else None


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
