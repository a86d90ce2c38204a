"""What a program wanted to change, by the calls that strace saw: the proof that something only reads."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

STRACE = ("strace", "-f", "-y", "-s", "4096", "-e", "trace=%file")
# what may be written besides the store: scratch that is gone at the end, and what is no file of a disk
ELSEWHERE = ("/dev/null", "/dev/tty", "/dev/shm/", "/proc/self/")
CALL = re.compile(r"\d+ +(\w+)\((.*)\) += (-?\d+)")
CHANGING = (
    "creat", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat",
    "symlink", "symlinkat", "mknod", "mknodat", "chmod", "fchmodat", "chown", "lchown", "fchownat", "truncate",
    "utimensat", "setxattr", "removexattr",
)  # fmt: skip


def can_trace() -> bool:
    """Whether strace is here, and may trace."""
    if not shutil.which("strace"):
        return False
    return subprocess.run(["strace", "-f", "true"], capture_output=True, check=False).returncode == 0


def changes(trace: Path, cwd: Path) -> list[str]:
    """Absolute paths that a call wanted to write, make, move, remove or change; whether it could or not."""
    return [path for line in trace.read_text(errors="replace").splitlines() for path in _changed(line, cwd)]


def _changed(line: str, cwd: Path) -> list[str]:
    match = CALL.match(line)
    if not match:
        return []
    name, words = match[1], match[2]
    opens = name in ("open", "openat") and re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)", words)
    if not opens and name not in CHANGING:
        return []
    folders = re.findall(r"(?:AT_FDCWD|\d+)<([^>]*)>, ", words) or [str(cwd)]
    paths = re.findall(r'"((?:[^"\\]|\\.)*)"', words)
    if name.startswith("symlink"):
        paths = paths[-1:]  # the target is no file that is written
    return [os.path.normpath(Path(folders[min(at, len(folders) - 1)], path)) for at, path in enumerate(paths)]
