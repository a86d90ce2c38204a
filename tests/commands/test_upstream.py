"""Tables of trees, kept by tree: read once, made anew when broken, and not needing a disk that can be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from stackctl.commands.linting.tables import history, upstream_of
from stackctl.core.names import TreeId
from stackctl.core.upstream.stored import FORMAT
from stackctl.errors import StackctlError
from stackctl.ports import Ports, TreeEntry
from tests.core.upstream.sources import HEAD, SERVER_ARGS, tree
from tests.fakes import MemoryFiles, RepositoryTemplates, fake_ports

TREE = TreeId("a" * 40)
FILE = f"/home/user/.local/share/stackctl/upstream/{TREE}-{FORMAT}.json"
SOURCE = HEAD + (
    'class ServerArgs:\n    port: A[int, "x"] = 1\n    def add_cli_args(parser):\n'
    "        add_cli_args_from_dataclass(parser, ServerArgs)\n"
)


class Store:
    """`ports.Git` of one tree; it counts what is asked."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self.asked = 0

    def list(self, tree: TreeId) -> tuple[TreeEntry, ...]:
        self.asked += 1
        return tuple(TreeEntry(path, "100644", f"blob of {path}", 1) for path in self._files)

    def read_blobs(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        self.asked += 1
        return {blob: self._files[blob.removeprefix("blob of ")] for blob in ids}


class FullDisk(MemoryFiles):
    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        raise StackctlError(f"cannot write {path}: the disk is full")


def world(files: MemoryFiles | None = None, source: Mapping[str, bytes] | None = None) -> tuple[Ports, Store]:
    version = {"python/sglang/_version.py": b"__version__ = version = '0.5.15'\n"}
    store = Store(source or {**tree({SERVER_ARGS: SOURCE}), **version})
    return fake_ports(files=files or MemoryFiles(), git=store, templates=RepositoryTemplates()), store


def test_a_table_is_read_once_in_two_calls() -> None:
    ports, store = world()
    first = upstream_of(ports, TREE)
    assert ([flag.name for flag in first.flags], first.version, store.asked) == (["--port"], "0.5.15", 2)
    assert upstream_of(ports, TREE) == first
    assert store.asked == 2


def test_the_version_that_is_pinned_counts_and_is_not_kept() -> None:
    ports, _ = world()
    assert upstream_of(ports, TREE, version="0.5.15.post1").version == "0.5.15.post1"
    assert upstream_of(ports, TREE).version == "0.5.15"


@pytest.mark.parametrize("broken", [b"", b"{", b'{"format": 2}', b'{"format": 0}', b"\xff\xfe"])
def test_a_broken_one_is_made_anew(broken: bytes) -> None:
    files = MemoryFiles()
    files.data[FILE] = broken
    ports, store = world(files)
    assert [flag.name for flag in upstream_of(ports, TREE).flags] == ["--port"]
    assert (store.asked, files.data[FILE] != broken) == (2, True)


def test_a_disk_that_cannot_be_written_is_no_fault() -> None:
    ports, store = world(FullDisk())
    assert upstream_of(ports, TREE) == upstream_of(ports, TREE)
    assert store.asked == 4


def test_one_tree_has_a_table_for_each_module_that_is_served() -> None:
    text = b"import argparse\np = argparse.ArgumentParser()\np.add_argument('--%b')\n"
    ports, store = world(source={"python/engine/a.py": text % b"x", "python/engine/b.py": text % b"y"})
    names = [upstream_of(ports, TREE, f"engine.{module}").flags[0].name for module in ("a", "b", "a")]
    assert (names, store.asked) == (["--x", "--y", "--x"], 4)


def test_the_collector_is_left_as_it_was() -> None:
    import gc

    ports, _ = world()
    upstream_of(ports, TREE)
    assert gc.isenabled()


def test_the_history_that_comes_with_stackctl() -> None:
    ports, _ = world()
    assert history(ports).versions[-1] == "0.5.23"


def test_a_broken_history_tells_what_to_do() -> None:
    class Broken(RepositoryTemplates):
        def data(self, name: str) -> bytes:
            return b"{}"

    with pytest.raises(StackctlError, match=r"data/history\.json is broken"):
        history(fake_ports(templates=Broken()))
