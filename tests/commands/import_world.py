"""A workspace to import into, with the real git, the real shell, and this machine as a host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from stackctl.adapters.git import GitBranches, GitStore
from stackctl.adapters.host import RealHosts
from stackctl.adapters.process import LocalProcess
from stackctl.adapters.scratch import scratch
from stackctl.commands.importing.ground import How
from stackctl.commands.importing.verb import ImportReport, ImportRequest, Take, import_patches
from stackctl.commands.selection import Selection
from stackctl.ports import Ports
from tests import forks
from tests.commands.composing import NUMBERS, Bench
from tests.fakes import LocalFilesAt, RepositoryTemplates, Somebody


class World(Bench):
    """`engine` is the base; `fork` can be made a repository that holds the same files."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.base("python/pkg/run.sh", "#!/bin/sh\n")
        (folder / "engine/python/pkg/run.sh").chmod(0o755)
        self.stack_file()
        self.answer: bool | None = None

    def world(self) -> Ports:
        files = LocalFilesAt(self.folder / "home", self.workspace)
        process = LocalProcess()
        return self.ports(
            git=GitStore(files),
            branches=GitBranches(files),
            scratch=lambda: scratch(process),
            hosts=RealHosts(process),
            templates=RepositoryTemplates(),
            who=Somebody(answer=self.answer),
        )

    def take(self, take: Take, how: How | None = None, **given: Any) -> ImportReport:
        request = ImportRequest(Selection("s"), take, given.pop("topic", "t"), how=how or How())
        return import_patches(self.world(), replace(request, **given))

    def fork(self, extra: Mapping[str, bytes] | None = None) -> Path:
        files = {}
        for path in sorted((self.folder / "engine").rglob("*")):
            if path.is_file():
                mode = "100755" if path.stat().st_mode & 0o100 else "100644"
                files[path.relative_to(self.folder / "engine").as_posix()] = (mode, path.read_bytes())
        files |= {path: ("100644", data) for path, data in (extra or {}).items()}
        forks.repository(self.folder / "fork", files)
        return self.folder / "fork"

    def put(self, name: str, data: str | bytes) -> Path:
        file = self.folder / "in" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        return file

    def written(self) -> dict[str, bytes]:
        """Patch files of the workspace."""
        folder = self.workspace / "patches"
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.patch"))}

    def queue(self) -> str:
        return (self.workspace / "stacks" / "s.yaml").read_text()


def edit(file: Path, number: int, new: str) -> None:
    """Another text for one line."""
    lines = file.read_text().splitlines(keepends=True)
    lines[number - 1] = f"{new}\n"
    file.write_text("".join(lines))


def diff(path: str, number: int, new: str) -> str:
    """A plain diff of one line of a file that holds NUMBERS."""
    lines = NUMBERS.splitlines()
    around = lines[number - 4 : number + 3]
    body = [f" {line}" for line in around[:3]] + [f"-{around[3]}", f"+{new}"] + [f" {line}" for line in around[4:]]
    place = f"@@ -{number - 3},7 +{number - 3},7 @@"
    return "\n".join([f"--- {path}", f"+++ {path}", place, *body]) + "\n"
