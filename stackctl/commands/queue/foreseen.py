"""The workspace as it would be after a change: files that read as if they had been written already.

So a change is proved by the very code that reads the workspace, before one byte of it is written. What was read on the
way is remembered, so that a change which somebody else makes meanwhile is noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

from stackctl.errors import StackctlError
from stackctl.ports import Files, Ports


class ForeseenFiles:
    """`ports.Files` of before, with other contents for some paths. What is written goes through."""

    def __init__(self, files: Files, changes: Mapping[str, bytes]) -> None:
        self._files = files
        self._changes = changes
        self._seen: dict[str, str] = {}

    def read(self, path: str) -> bytes:
        if path in self._changes:
            return self._changes[path]
        data = self._files.read(path)
        self._seen.setdefault(path, sha256(data).hexdigest())
        return data

    def moved_on(self, folder: str) -> tuple[str, ...]:
        """Files below `folder` that read otherwise now than they did before."""
        return tuple(
            path for path, was in self._seen.items() if path.startswith(f"{folder}/") and self._now(path) != was
        )

    def _now(self, path: str) -> str:
        try:
            return sha256(self._files.read(path)).hexdigest()
        except StackctlError:
            return ""

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        self._files.write(path, data, mode)

    def append_line(self, path: str, line: str) -> None:
        self._files.append_line(path, line)

    def exists(self, path: str) -> bool:
        return path in self._changes or self._files.exists(path)

    def is_dir(self, path: str) -> bool:
        return path not in self._changes and self._files.is_dir(path)

    def is_executable(self, path: str) -> bool:
        return self._files.is_executable(path)

    def is_link(self, path: str) -> bool:
        return self._files.is_link(path)

    def mode(self, path: str) -> int:
        return self._files.mode(path)

    def list(self, path: str) -> tuple[str, ...]:
        return self._files.list(path)

    def walk(self, path: str) -> tuple[str, ...]:
        return self._files.walk(path)

    def remove(self, path: str) -> None:
        self._files.remove(path)

    def home(self) -> str:
        return self._files.home()

    def cwd(self) -> str:
        return self._files.cwd()


def foreseen(ports: Ports, changes: Mapping[str, bytes]) -> tuple[Ports, ForeseenFiles]:
    """Ports that see the changes. `changes`: absolute path -> contents."""
    files = ForeseenFiles(ports.files, changes)
    return replace(ports, files=files), files
