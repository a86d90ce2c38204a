"""Shared memory that an engine leaves behind: files of /dev/shm, which stay when their maker is killed.

What is removed: segments that our processes had mapped, that belong to our user, and that no living process maps any
more. Names are not looked at, so nothing of another program goes, however alike it is called.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

FOLDER = "/dev/shm/"


def mapped(pids: Iterable[int]) -> set[str]:
    """Paths of the segments that these processes have mapped now."""
    return {path for pid in pids for path in _of(pid)}


def remove(paths: Iterable[str]) -> list[str]:
    """Take away those that are nobody's any more; what was removed."""
    wanted = set(paths)
    if not wanted:
        return []
    used = mapped(int(name) for name in os.listdir("/proc") if name.isdigit())
    return [path for path in sorted(wanted - used) if _unlink(path)]


def _of(pid: int) -> Iterable[str]:
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError:
        return ()
    found = (line.split(maxsplit=5)[-1] for line in lines if FOLDER in line)
    return [path for path in found if path.startswith(FOLDER) and not path.endswith(" (deleted)")]


def _unlink(path: str) -> bool:
    with contextlib.suppress(OSError):
        if os.stat(path).st_uid == os.getuid():
            os.unlink(path)
            return True
    return False
