"""A fork of many commits on the real sglang: imported, exported, imported again, and every byte is the same.

Twenty commits meet each kind of edit twice; STACKCTL_COMMITS=40 asks for as many.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from stackctl.adapters.files import LocalFiles
from stackctl.adapters.git import GitBranches, GitStore
from stackctl.commands.gather import load
from stackctl.commands.importing import sources
from stackctl.commands.importing.export import ExportRequest, export_patches
from stackctl.commands.importing.verb import ImportReport, ImportRequest, import_patches
from stackctl.commands.queue.look import verify_queue
from stackctl.commands.selection import Selection
from stackctl.commands.tree import base_tree
from stackctl.core.names import TreeId
from stackctl.ports import Ports
from stackctl.wiring import real_ports
from tests import forks
from tests.fakes import Told, fake_ports

pytestmark = [pytest.mark.slow, pytest.mark.net, pytest.mark.timeout(900)]
STACK = Path(__file__).parents[2] / "stacks" / "cpu.yaml"
COMMITS = int(os.environ.get("STACKCTL_COMMITS", "20"))
WHERE = "python/sglang/srt/managers/"


class Here(LocalFiles):
    """The real store, which holds the base, seen from a workspace of the test."""

    def __init__(self, cwd: Path) -> None:
        self._cwd = cwd

    def cwd(self) -> str:
        return str(self._cwd)


def workspace(folder: Path) -> Ports:
    """The base of stacks/cpu.yaml with an empty queue, and nothing else of it."""
    text = STACK.read_text()
    base = re.search(r"^base:\n(?:  .*\n)+", text, re.MULTILINE)
    assert base
    (folder / "stacks").mkdir(parents=True)
    rest = "model: {path: /m, name: m}\nroles: {single: {host: a, port: 1}}\nhosts: {a: {address: local}}\n"
    (folder / "stacks/s.yaml").write_text(f"{base[0]}patches: []\n{rest}")
    files, real = Here(folder), real_ports(Told())
    return fake_ports(files=files, git=GitStore(files), branches=GitBranches(files), index=real.index)


@pytest.fixture(scope="module")
def fork(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    ports = workspace(folder / "base")
    tree: TreeId = base_tree(ports, load(ports, Selection("s")))
    modes = {entry.path: entry.mode for entry in ports.git.list(tree)}
    contents = ports.git.read(tree, list(modes))
    forks.repository(folder / "fork", {path: (mode, contents[path]) for path, mode in modes.items()})
    paths = [path for path in sorted(modes) if path.startswith(WHERE) and path.endswith(".py")]
    assert len(forks.branch(folder / "fork", paths[:13], COMMITS)) == COMMITS
    return folder / "fork"


def taken(ports: Ports, request: ImportRequest) -> ImportReport:
    report = import_patches(ports, request)
    assert report.source_tree == report.result_tree
    assert len(report.patches) == COMMITS
    return report


def written(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.patch")}


def test_a_fork_there_and_back(fork: Path, tmp_path: Path) -> None:
    ports = workspace(tmp_path / "one")
    first = taken(ports, ImportRequest(Selection("s"), sources.fork(str(fork), "main..fork"), "fork", add=True))
    assert first.result_tree == forks.git(fork, "rev-parse", "fork^{tree}")
    assert verify_queue(ports, Selection("s")).exit == 0

    export_patches(ports, ExportRequest(Selection("s"), "back", str(fork), "main"))
    for what in ("%an <%ae> %ad", "%s", "%T"):
        logs = [forks.git(fork, "log", f"--format={what}", f"main..{name}") for name in ("fork", "back")]
        assert logs[0] == logs[1]
    export_patches(ports, ExportRequest(Selection("s"), mbox=str(tmp_path / "q.mbox")))

    files = written(tmp_path / "one/patches")
    other = workspace(tmp_path / "mailbox")
    mails = sources.files([str(tmp_path / "q.mbox")])
    taken(other, ImportRequest(Selection("s"), mails, "fork", add=True))
    assert written(tmp_path / "mailbox/patches") == files
    again = export_patches(other, ExportRequest(Selection("s"), "back", str(fork), "main"))
    assert not again.new  # the very same ids, though the patches came by mail
