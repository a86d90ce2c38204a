"""Workspaces in memory for tests: stack files without a disk, and a composition without git."""

from __future__ import annotations

import os
from pathlib import Path

from stackctl.commands.selection import Selection
from stackctl.core.names import Digest, PatchName, TreeId
from stackctl.core.patches.values import Header, Need, Patch, PatchedTree, Queue
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.stack.variant import leave_out
from stackctl.ports import Ports
from tests.fakes import MemoryFiles, RepositoryTemplates, Somebody, fake_ports

GOLDEN = Path(__file__).parent / "golden"
SMALL = """
base: {path: engine}
model: {path: /m, name: m}
serve: {flags: {tp-size: 2}, env: {A: 1}}
roles:
  prefill: {host: a, port: 30000, gpus: [0, 1], flags: {enable-hierarchical-cache: true}}
  decode: {host: a, port: 30300, gpus: [2, 3]}
  router: {host: a, port: 31000}
hosts: {a: {address: local, env: {MACHINE: 1}}}
"""


def ports_of(files: dict[str, str], *, folder: str = "/ws", **variables: str) -> Ports:
    """A workspace of these files (relative paths), seen from its own folder."""
    memory = MemoryFiles(cwd=folder)
    for name, text in files.items():
        memory.data[f"{folder}/{name}"] = text.encode()
    somebody = Somebody()
    somebody.variables = {"HOME": "/home/user", **variables}
    return fake_ports(files=memory, who=somebody, templates=RepositoryTemplates())


def folder_of(case: Path) -> dict[str, str]:
    """The files of a golden case, without what is expected of them."""
    files = (path for path in sorted(case.rglob("*")) if path.is_file() and path.name != "expect.txt")
    return {path.relative_to(case).as_posix(): path.read_text() for path in files}


def golden(path: Path, text: str) -> None:
    """Compare with a golden file, or rewrite it under STACKCTL_GOLDEN=1."""
    if os.environ.get("STACKCTL_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"no golden file {path}: `just golden` writes it"
    assert path.read_text() == text


def tree_id(*parts: str) -> TreeId:
    """A made-up tree id that depends on its parts."""
    text = "/".join(parts).encode().hex()
    return TreeId((text + "0" * 40)[:40])


class Composer:
    """Stands for commands/tree.py: a base, patches of one line each, and given needs."""

    def __init__(self, needs: tuple[Need, ...] = ()) -> None:
        self._needs = needs

    def compose(self, ports: Ports, stack: ResolvedStack) -> tuple[ResolvedStack, PatchedTree]:
        taken = leave_out(stack, self._needs)
        patches = tuple(self._patch(name) for name in taken.patches)
        return taken, PatchedTree(tree_id("base"), tree_id(*taken.patches), patches)

    def compose_queue(self, ports: Ports, stack: ResolvedStack) -> tuple[ResolvedStack, PatchedTree, tuple[Need, ...]]:
        return (*self.compose(ports, stack), self._needs)

    def queue(self, ports: Ports, stack: ResolvedStack) -> Queue:
        return Queue(tree_id("base"), tuple(self._patch(name) for name in stack.patches), self._needs)

    def after(self, ports: Ports, stack: ResolvedStack) -> tuple[tuple[PatchName, TreeId], ...]:
        return tuple((name, tree_id(*stack.patches[: n + 1])) for n, name in enumerate(stack.patches))

    @staticmethod
    def _patch(name: PatchName) -> Patch:
        trailers = (("Area", "tests"), ("Why", "It is a test."), ("Upstream", "Pending"), ("Remove-when", "never"))
        header = Header(f"Title of {name}", "A <a@b>", "2026-03-02T09:00:00+00:00", "", trailers)
        return Patch(name, f"{name}.patch", b"", Digest("0" * 64), header, ())


MAIN = Selection("main")
