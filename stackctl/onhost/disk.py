"""How much room a file or folder takes that nothing else shares, and removing it. It decides nothing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any


def freed(path: Path) -> int:
    """Bytes that its removal gives back: a file that has names elsewhere too gives none."""
    files = [path]
    if path.is_dir() and not path.is_symlink():
        files = [Path(parent, name) for parent, _, names in os.walk(path) for name in names]
    seen: dict[tuple[int, int], int] = {}
    total = 0
    for file in files:
        try:
            found = os.lstat(file)
        except OSError:  # gone meanwhile
            continue
        key = (found.st_dev, found.st_ino)
        seen[key] = seen.get(key, 0) + 1
        total += found.st_blocks * 512 if seen[key] == found.st_nlink else 0
    return total


def take_away(path: Path, *, dry: bool) -> dict[str, Any]:
    """Remove it, unless `dry`; its name and what that gives back."""
    about = {"name": path.name, "bytes": freed(path)}
    if not dry:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return about
