"""The workspace as it was at a git revision, as `ports.Files`: what works on files works on old ones too.

Only what the repository holds comes from the revision; $STACKCTL_HOME and everything outside of the repository is what
it is now. Writing into the past is refused.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from stackctl.core.names import Commit
from stackctl.errors import InvalidFile, StackctlError, Where
from stackctl.ports import Ports

T = TypeVar("T")
READ_AHEAD = (".patch", ".yaml", ".yml", ".lock")  # of the workspace: what a stack is mostly made of, in one question
LINK = "120000"


@dataclass(frozen=True)
class Revision:
    """`name` as typed, `commit` what it means."""

    name: str
    commit: Commit

    def __str__(self) -> str:
        return f"{self.name} ({self.commit[:12]})"


def ports_at(ports: Ports, workspace: str, name: str) -> tuple[Ports, Revision]:
    """Ports whose files are those of the revision. Raises UsageError when there is none of that name."""
    revision = Revision(name, ports.revisions.commit(workspace, name))
    return replace(ports, files=FilesAt(ports, workspace, revision)), revision


def told_at(revision: Revision | None, act: Callable[[], T]) -> T:
    """What `act` gives; its errors name the revision, as git does: `HEAD~3:stacks/prod.yaml:4`."""
    if revision is None:
        return act()
    try:
        return act()
    except InvalidFile as error:
        places = [replace(one, where=_at(revision, one.where)) for one in error.problems]
        raise InvalidFile(places, error.hint) from error
    except StackctlError as error:
        error.message = f"at {revision}: {error.message}"
        raise


def _at(revision: Revision, where: Where | None) -> Where:
    return Where(revision.name) if where is None else replace(where, file=f"{revision.name}:{where.file}")


class FilesAt:
    """`ports.Files` at one revision."""

    def __init__(self, ports: Ports, workspace: str, revision: Revision) -> None:
        self._now = ports.files
        self._asked = ports.revisions
        self._workspace = workspace
        self._revision = revision
        self._top = ports.revisions.top(workspace)
        self._contents: dict[str, bytes] = {}

    @cached_property
    def _modes(self) -> Mapping[str, str]:
        modes = self._asked.modes(self._workspace, self._revision.commit)
        near = tuple(f"{self._inside(f'{self._workspace}/{folder}')}/" for folder in ("stacks", "patches"))
        ahead = [path for path in modes if path.startswith(near) and path.endswith(READ_AHEAD)]
        self._contents.update(self._asked.read(self._workspace, self._revision.commit, ahead))
        return modes

    @cached_property
    def _folders(self) -> frozenset[str]:
        found = {""}
        for path in self._modes:
            while path := posixpath.dirname(path):
                if path in found:
                    break
                found.add(path)
        return frozenset(found)

    def _inside(self, path: str) -> str | None:
        """The path from the top of the repository; None when it lies outside, or in $STACKCTL_HOME."""
        path = posixpath.normpath(path)
        home = self._now.home()
        if path == home or path.startswith(f"{home}/"):
            return None
        if path == self._top:
            return ""
        return path[len(self._top.rstrip("/")) + 1 :] if path.startswith(f"{self._top.rstrip('/')}/") else None

    def read(self, path: str) -> bytes:
        inside = self._inside(path)
        if inside is None:
            return self._now.read(path)
        if inside in self._modes and inside not in self._contents:
            self._read_folder(posixpath.dirname(inside))
        if inside not in self._contents:
            raise StackctlError(f"cannot read {path}: there is no such file at {self._revision}")
        return self._contents[inside]

    def _read_folder(self, folder: str) -> None:
        """All of a folder at once: its other files are mostly wanted too."""
        paths = [path for path in self._modes if posixpath.dirname(path) == folder and path not in self._contents]
        self._contents.update(self._asked.read(self._workspace, self._revision.commit, paths))

    def exists(self, path: str) -> bool:
        inside = self._inside(path)
        return self._now.exists(path) if inside is None else inside in self._modes or inside in self._folders

    def is_dir(self, path: str) -> bool:
        inside = self._inside(path)
        return self._now.is_dir(path) if inside is None else inside in self._folders

    def is_executable(self, path: str) -> bool:
        inside = self._inside(path)
        return self._now.is_executable(path) if inside is None else self._modes.get(inside) == "100755"

    def is_link(self, path: str) -> bool:
        inside = self._inside(path)
        return self._now.is_link(path) if inside is None else self._modes.get(inside) == LINK

    def mode(self, path: str) -> int:
        inside = self._inside(path)
        if inside is None:
            return self._now.mode(path)
        if inside not in self._modes:
            raise StackctlError(f"cannot look at {path}: there is no such file at {self._revision}")
        return int(self._modes[inside][-3:], 8)

    def list(self, path: str) -> tuple[str, ...]:
        inside = self._inside(path)
        if inside is None:
            return self._now.list(path)
        return tuple(sorted({name.partition("/")[0] for name in self._below(inside)}))

    def walk(self, path: str) -> tuple[str, ...]:
        inside = self._inside(path)
        if inside is None:
            return self._now.walk(path)
        prefix = f"{inside}/" if inside else ""
        return tuple(sorted(name for name in self._below(inside) if self._modes[prefix + name] != LINK))

    def _below(self, folder: str) -> Iterator[str]:
        prefix = f"{folder}/" if folder else ""
        return (path[len(prefix) :] for path in self._modes if path.startswith(prefix))

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        self._refuse(path)
        self._now.write(path, data, mode)

    def append_line(self, path: str, line: str) -> None:
        self._refuse(path)
        self._now.append_line(path, line)

    def remove(self, path: str) -> None:
        self._refuse(path)
        self._now.remove(path)

    def _refuse(self, path: str) -> None:
        if self._inside(path) is not None:
            raise StackctlError(f"{path} is looked at as it was at {self._revision}; nothing is written there")

    def home(self) -> str:
        return self._now.home()

    def cwd(self) -> str:
        return self._now.cwd()
