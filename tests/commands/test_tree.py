"""Bases and composing, end to end on the real git: what comes out, and what is refused how."""

from __future__ import annotations

import json
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from stackctl.commands.base import requires
from stackctl.commands.tree import base_tree, compose, queue_of, tree_after_each
from stackctl.core.names import Commit, Digest, PatchName
from stackctl.core.patches.values import Offset
from stackctl.core.stack.resolved import GitBase, PathBase, PypiBase
from stackctl.errors import InvalidFile, PatchConflict, StackctlError
from stackctl.ports import Applied, Ports
from tests.commands.composing import NUMBERS, Bench
from tests.core.base.test_wheel import wheel
from tests.fakes import Wheels

WHEEL = wheel(("pkg/a.py", NUMBERS.encode(), 0o644))
OTHER = wheel(("pkg/a.py", b"other", 0o644))
PIN = PypiBase("pkg==1.0", Digest(sha256(WHEEL).hexdigest()))
AWAY = StackctlError("cannot fetch pkg==1.0: no network", "later")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def read(ports: Ports, tree: str, path: str = "python/pkg/a.py") -> str:
    return ports.git.read(tree, [path])[path].decode()  # type: ignore[arg-type]


# --- composing


def test_a_queue_becomes_a_tree_and_offsets_are_kept(bench: Bench) -> None:
    bench.edit("t/one", 10, "one")
    bench.edit("t/two", 20, "two")
    bench.base("python/pkg/a.py", "new first line\n" + NUMBERS)
    ports = bench.ports()
    stack, tree = compose(ports, bench.stack("t/one", "t/two"))
    assert read(ports, tree.tree) == ("new first line\n" + NUMBERS).replace("line 10\n", "one\n").replace(
        "line 20\n", "two\n"
    )
    assert stack.patches == ("t/one", "t/two")
    assert tree.offsets == tuple(
        Offset(PatchName(name), "python/pkg/a.py", 1, at, 1) for name, at in (("t/one", 8), ("t/two", 18))
    )
    assert [name for name, _ in tree_after_each(ports, bench.stack("t/one", "t/two"))] == ["t/one", "t/two"]
    assert tree_after_each(ports, bench.stack("t/one", "t/two"))[-1][1] == tree.tree


def test_an_empty_queue_is_the_base(bench: Bench) -> None:
    ports = bench.ports()
    tree = compose(ports, bench.stack())[1]
    assert tree.tree == tree.base == base_tree(ports, bench.stack())


def test_a_variant_takes_what_needs_it_along(bench: Bench) -> None:
    bench.edit("t/one", 10, "one")
    bench.edit("t/two", 10, "two", old="one")
    bench.edit("t/three", 20, "three", file="b.py", needs="t/two")
    bench.edit("t/four", 25, "four")
    ports = bench.ports()
    names = ("t/one", "t/two", "t/three", "t/four")
    stack, tree = compose(ports, bench.stack(*names, without=["t/one"]))
    assert stack.patches == ("t/four",)
    assert [element.name for element in stack.variant.dropped] == ["t/two", "t/three"]
    assert read(ports, tree.tree) == NUMBERS.replace("line 25\n", "four\n")


def test_in_a_subset_a_hunk_goes_where_its_lines_are_not_where_git_finds_a_likeness(bench: Bench) -> None:
    block = "start\nbody\nend\n\n"
    bench.base("python/pkg/a.py", "head\n" + block * 4 + "tail\n")
    path = "python/pkg/a.py"
    names = f"--- a/{path}\n+++ b/{path}\n"
    # the first patch takes two blocks away, so the second is stated two blocks too high for a tree without the first
    bench.patch(
        "t/less", names + "@@ -1,12 +1,4 @@\n head\n" + "-start\n-body\n-end\n-\n" * 2 + " start\n body\n end\n"
    )
    bench.patch(
        "t/mark", names + "@@ -6,5 +6,5 @@\n start\n-body\n+BODY\n end\n \n tail\n".replace("@@ -6,5", "@@ -6,5")
    )
    ports = bench.ports()
    whole = compose(ports, bench.stack("t/less", "t/mark"))[1]
    assert read(ports, whole.tree) == "head\n" + block + block.replace("body", "BODY") + "tail\n"
    alone = compose(ports, bench.stack("t/less", "t/mark", without=["t/less"]))[1]
    assert read(ports, alone.tree) == "head\n" + block * 3 + block.replace("body", "BODY") + "tail\n"


# --- what is refused


def test_a_conflict_names_patch_hunk_and_both_lines(bench: Bench) -> None:
    bench.edit("t/good", 20, "good")
    bench.edit("t/stale", 10, "x", old="line ten")
    with pytest.raises(PatchConflict) as caught:
        compose(bench.ports(), bench.stack("t/good", "t/stale"))
    said = str(caught.value)
    assert said.startswith("patches/t/stale.patch:11: context-mismatch: python/pkg/a.py: hunk 1 (@@ -7,7 +7,7 @@")
    assert "expects 'line ten' (line 15 of the patch), but at line 10 the file has 'line 10'" in said
    assert caught.value.hint
    assert caught.value.exit_code == 3


def test_the_line_of_an_earlier_patch_is_said_to_be_its(bench: Bench) -> None:
    bench.edit("t/one", 10, "one")
    bench.edit("t/two", 12, "two")
    with pytest.raises(PatchConflict, match=r"the file has 'one' \(from t/one\)"):
        compose(bench.ports(), bench.stack("t/one", "t/two"))


def test_a_patch_that_conflicts_may_be_left_out(bench: Bench) -> None:
    bench.edit("t/stale", 10, "x", old="line ten")
    bench.edit("t/good", 20, "good")
    ports = bench.ports()
    assert list(queue_of(ports, bench.stack("t/stale", "t/good")).conflicts) == ["t/stale"]
    stack = compose(ports, bench.stack("t/stale", "t/good", without=["t/stale"]))[0]
    assert stack.patches == ("t/good",)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "not-a-patch: the file is empty"),
        (b"just words\n", "not-a-patch: the file holds no diff"),
        (b"--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", "crlf-patch"),
        (b"--- a/../../etc/x\n+++ b/../../etc/x\n@@ -1 +1 @@\n-a\n+b\n", "path-escape"),
        (b"--- /etc/x\n+++ /etc/x\n@@ -1 +1 @@\n-a\n+b\n", "absolute-path"),
    ],
)
def test_broken_files_are_invalid_and_all_told_at_once(bench: Bench, data: bytes, kind: str) -> None:
    bench.patch("t/broken", data)
    bench.patch("t/too", b"")
    bench.edit("t/good", 20, "good")
    with pytest.raises(InvalidFile) as caught:
        compose(bench.ports(), bench.stack("t/broken", "t/good", "t/too"))
    first, second = caught.value.problems
    assert kind in str(first)
    assert str(first).startswith("patches/t/broken.patch:1: ")
    assert str(second).startswith("patches/t/too.patch:1: not-a-patch")
    assert first.hint
    assert second.hint
    taken = compose(bench.ports(), bench.stack("t/broken", "t/good", "t/too", without=["t/broken", "t/too"]))[0]
    assert taken.patches == ("t/good",)


def test_a_file_that_cannot_be_read(bench: Bench) -> None:
    (bench.workspace / "patches" / "t" / "folder.patch").mkdir(parents=True)
    with pytest.raises(InvalidFile) as caught:
        compose(bench.ports(), bench.stack("t/folder", "t/none"))
    assert [str(problem.where) for problem in caught.value.problems] == [
        "patches/t/folder.patch",
        "patches/t/none.patch",
    ]


def test_one_name_twice(bench: Bench) -> None:
    bench.edit("t/one", 10, "one")
    with pytest.raises(InvalidFile, match="t/one is entry 1 and entry 2"):
        compose(bench.ports(), bench.stack("t/one", "t/one"))


def test_a_need_that_is_not_in_the_queue_is_told_in_variants_too(bench: Bench) -> None:
    bench.edit("t/one", 10, "one", needs="t/none")
    bench.edit("t/two", 20, "two")
    for without in ((), ("t/two",)):
        with pytest.raises(InvalidFile, match=r"t/one\.patch:7: bad-needs"):
            compose(bench.ports(), bench.stack("t/one", "t/two", without=without))


def test_a_patch_of_another_source_is_refused(bench: Bench) -> None:
    bench.edit("t/one", 10, "one", needs="t/none\nSource: flashinfer")
    with pytest.raises(InvalidFile, match="`Source: flashinfer`, and the stack declares no such source"):
        compose(bench.ports(), bench.stack("t/one"))


def test_when_git_refuses_what_the_walk_took_the_patch_is_found(bench: Bench) -> None:
    class Stubborn:
        """A git that does not take the second patch."""

        def __init__(self, git: object, refused: bytes) -> None:
            self._git, self._refused = git, refused

        def __getattr__(self, name: str) -> object:
            return getattr(self._git, name)

        def apply(self, base: str, patches: list[tuple[bytes, int]]) -> Applied:
            if any(self._refused in data for data, _ in patches):
                return Applied(None, "Checking patch x...\nerror: will not")
            return self._git.apply(base, patches)  # type: ignore[attr-defined,no-any-return]

    bench.edit("t/one", 10, "one")
    bench.edit("t/two", 20, "two")
    ports = bench.ports(git=Stubborn(bench.ports().git, b"t/two title"))
    with pytest.raises(PatchConflict, match=r"patches/t/two\.patch: refused-by-git: .*will not"):
        compose(ports, bench.stack("t/one", "t/two"))


# --- bases


def test_a_folder_keeps_modes_and_leaves_out_what_is_no_source(bench: Bench) -> None:
    engine = bench.folder / "engine"
    bench.base("bin/go.sh", "#!/bin/sh\n")
    (engine / "bin/go.sh").chmod(0o755)
    for name in (".git/config", "python/__pycache__/a.cpython-311.pyc", "python/old.pyc"):
        bench.base(name, "x")
    ports = bench.ports()
    listed = {entry.path: entry.mode for entry in ports.git.list(base_tree(ports, bench.stack()))}
    assert listed == {"bin/go.sh": "100755", "python/pkg/a.py": "100644", "python/pkg/b.py": "100644"}


def test_a_folder_that_is_not_there(bench: Bench) -> None:
    with pytest.raises(StackctlError, match="is no folder"):
        base_tree(bench.ports(), bench.stack(base=PathBase(str(bench.folder / "none"))))


def test_a_wheel_is_fetched_once_and_then_known(bench: Bench) -> None:
    index = Wheels({None: WHEEL})
    tree = base_tree(bench.ports(index), bench.stack(base=PIN))
    assert base_tree(bench.ports(Wheels({None: AWAY})), bench.stack(base=PIN)) == tree
    assert index.asked == [("pkg==1.0", None)]


def test_a_store_that_was_deleted_is_made_again_from_the_kept_wheel(bench: Bench) -> None:
    tree = base_tree(bench.ports(Wheels({None: WHEEL})), bench.stack(base=PIN))
    (bench.folder / "home" / "store.git").rename(bench.folder / "gone")
    assert base_tree(bench.ports(Wheels({None: AWAY})), bench.stack(base=PIN)) == tree


def test_a_damaged_wheel_or_note_is_fetched_again(bench: Bench) -> None:
    tree = base_tree(bench.ports(Wheels({None: WHEEL})), bench.stack(base=PIN))
    for kept in (bench.folder / "home").glob("[wb]*/*"):
        kept.write_bytes(kept.read_bytes()[:20])
    assert base_tree(bench.ports(Wheels({None: WHEEL})), bench.stack(base=PIN)) == tree
    (note,) = (bench.folder / "home" / "bases").iterdir()
    assert json.loads(note.read_bytes())["tree"] == tree


def test_what_a_wheel_asks_for_is_remembered_with_its_tree(bench: Bench) -> None:
    data = wheel(("pkg/a.py", b"", 0o644), ("pkg-1.0.dist-info/METADATA", b"Requires-Dist: torch==2.11.0\n", 0o644))
    pin = PypiBase("pkg==1.0", Digest(sha256(data).hexdigest()))
    ports = bench.ports(Wheels({None: data}))
    tree = base_tree(ports, bench.stack(base=pin))
    shutil.rmtree(bench.folder / "home" / "wheels")
    assert requires(ports, pin, tree) == ("torch==2.11.0",)


def test_a_wheel_for_another_python_is_looked_for(bench: Bench) -> None:
    index = Wheels({None: OTHER, "3.12": WHEEL})
    assert base_tree(bench.ports(index), bench.stack(base=PIN))
    assert index.asked == [("pkg==1.0", version) for version in (None, "3.11", "3.12")]


def test_a_wheel_that_is_not_the_pinned_one_is_refused_with_both_values(bench: Bench) -> None:
    with pytest.raises(StackctlError) as caught:
        base_tree(bench.ports(Wheels({None: OTHER, "3.11": OTHER})), bench.stack(base=PIN))
    assert PIN.sha256 in str(caught.value)
    assert str(caught.value).count(sha256(OTHER).hexdigest()) == 1
    assert not (bench.folder / "home" / "wheels").exists()


def test_no_network_and_no_such_release(bench: Bench) -> None:
    with pytest.raises(StackctlError, match="no network"):
        base_tree(bench.ports(Wheels({None: AWAY})), bench.stack(base=PIN))
    with pytest.raises(StackctlError, match="the index has no wheel of pkg==1"):
        base_tree(bench.ports(Wheels({})), bench.stack(base=PIN))


def test_a_home_that_cannot_be_written(bench: Bench) -> None:
    (bench.folder / "home").write_bytes(b"")
    with pytest.raises(StackctlError) as caught:
        base_tree(bench.ports(Wheels({None: WHEEL})), bench.stack(base=PIN))
    assert "STACKCTL_HOME" in (caught.value.hint or "")


def commit_of(folder: Path) -> Commit:
    """Makes the folder a repository of one commit."""
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return Commit(done.stdout.strip())


def test_a_repository_by_path_or_url_is_held_to_its_commit(bench: Bench) -> None:
    engine = bench.folder / "engine"
    commit = commit_of(engine)
    bench.base("python/pkg/a.py", "changed since\n")
    ports = bench.ports()
    tree = base_tree(ports, bench.stack(base=PathBase(str(engine), commit)))
    assert read(ports, tree) == NUMBERS
    assert base_tree(ports, bench.stack(base=GitBase(f"file://{engine}", "HEAD", commit))) == tree
    engine.rename(bench.folder / "away")
    assert base_tree(ports, bench.stack(base=PathBase(str(engine), commit))) == tree


def test_a_commit_that_is_not_there(bench: Bench) -> None:
    commit_of(bench.folder / "engine")
    wrong = Commit("f" * 40)
    with pytest.raises(StackctlError, match="has no commit ffff"):
        base_tree(bench.ports(), bench.stack(base=PathBase(str(bench.folder / "engine"), wrong)))
