"""A workspace whose queue meets a new base in every way there is: small real trees, real git."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from stackctl.adapters.git import GitMerges, GitStore, GitWorkTrees
from stackctl.core.names import TreeId
from stackctl.ports import Ports, TreeFile
from tests.fakes import LocalFilesAt, Wheels, fake_ports

HEADER = """From: A Maker <maker@example.invalid>
Date: Mon, 01 Jan 2024 00:00:00 +0000
Subject: [PATCH] {name}

Area: tests
Why: It is a test.
Upstream: Pending
{more}---
"""
STACK = """# the stack
stack: s
base: {path: ../../old}
patches:
PATCHES
model: {path: /m, name: m}
roles:
  single: {host: a, port: 30000}
hosts: {a: {address: local}}
"""


def lines(topic: str, count: int = 30) -> list[str]:
    return [f"{topic} line {number}" for number in range(1, count + 1)]


def text(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


class RebaseWorld:
    """`<folder>/old` and `<folder>/new` are the bases, `<folder>/ws` the workspace. Patches are made by real git."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.workspace = folder, folder / "ws"
        (self.workspace / "stacks").mkdir(parents=True)
        self.old: dict[str, str] = {}
        self.new: dict[str, str] = {}
        self.names: list[str] = []
        self._now: dict[str, str] = {}
        self.files = LocalFilesAt(folder / "home", self.workspace)
        self.store = GitStore(self.files)

    def base(self, path: str, old: str | None, new: str | None) -> None:
        """A file of the bases; None where one has it not."""
        for side, content in ((self.old, old), (self.new, new)):
            if content is not None:
                side[path] = content
        if old is not None:
            self._now[path] = old

    def patch(self, name: str, changes: Mapping[str, str | None], more: str = "Remove-when: never\n") -> None:
        """A patch that makes these contents of the files as the patches before have left them."""
        before = self.tree(self._now)
        for path, content in changes.items():
            if content is None:
                del self._now[path]
            else:
                self._now[path] = content
        diff = self.store.diff(before, self.tree(self._now))
        self.write(f"patches/{name}.patch", HEADER.format(name=name, more=more) + diff)
        self.names.append(name)

    def now(self, path: str) -> list[str]:
        return self._now[path].splitlines()

    def edit(self, name: str, path: str, line: int, new: str, more: str = "Remove-when: never\n") -> None:
        """A patch of one line, counted from 1."""
        rows = self.now(path)
        rows[line - 1] = new
        self.patch(name, {path: text(rows)}, more)

    def write(self, path: str, content: str | bytes) -> None:
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def read(self, path: str) -> str:
        return (self.workspace / path).read_text()

    def tree(self, files: Mapping[str, str]) -> TreeId:
        return self.store.write_tree(TreeFile(path, content.encode(), "100644") for path, content in files.items())

    def settle(self) -> Ports:
        """Write the bases and the stack; the ports of it."""
        for name, side in (("old", self.old), ("new", self.new)):
            for path, content in side.items():
                file = self.folder / name / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content)
        rows = "\n".join(f"  - {name}   # why {name}" for name in self.names)
        self.write("stacks/s.yaml", STACK.replace("PATCHES", rows))
        return self.ports()

    def ports(self, **given: object) -> Ports:
        made = {"files": self.files, "git": self.store, "merges": GitMerges(self.files), "index": Wheels({})}
        return fake_ports(**{**made, "work_trees": GitWorkTrees(self.files), **given})


def repository(folder: Path, world: RebaseWorld, *versions: dict[str, str]) -> str:
    """A repository with one commit for each; the id of the last."""

    def git(*args: str) -> str:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z"}
        who = ("-c", "user.name=x", "-c", "user.email=x@x")
        return subprocess.run(
            ["git", "-C", str(folder), *who, *args], env=env, check=True, capture_output=True, text=True
        ).stdout.strip()

    folder.mkdir()
    git("init", "-q")
    for files in versions:
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
        git("add", "-A")
        git("commit", "-q", "-m", "one")
    return git("rev-parse", "HEAD")
