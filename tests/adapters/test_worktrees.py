"""Work trees on the real git: bytes go in and out as they are, and the store stays apart."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stackctl.adapters.git import GitStore, GitWorkTrees
from stackctl.core.names import TreeId
from stackctl.errors import StackctlError
from stackctl.ports import TreeFile
from tests.fakes import LocalFilesAt

BYTES = {
    "crlf.py": b"a\r\nb\r\n", "mixed": b"a\r\nb\n", "no-end": b"x", "empty": b"", "latin": b"caf\xe9\n",
    "sp ace/t[1]*.py": b"x\n", ".gitattributes": b"* text=auto eol=crlf filter=lfs ident\n", "id.py": b"$Id$\n",
    "tracked.pyc": b"kept\n",
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> LocalFilesAt:
    return LocalFilesAt(tmp_path / "home", tmp_path)


def made(
    store: LocalFilesAt, tmp_path: Path, shown: dict[str, bytes] | None = None
) -> tuple[GitWorkTrees, Path, TreeId]:
    git = GitStore(store)
    base = git.write_tree([TreeFile(path, data) for path, data in BYTES.items()])
    top = base if shown is None else git.write_tree([TreeFile(path, data) for path, data in shown.items()])
    trees, folder = GitWorkTrees(store), tmp_path / "work tree"
    trees.make(str(folder), base, top, "topic/name", "what comes before")
    return trees, folder, base


def git(folder: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *args], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape")


def test_bytes_go_in_and_out_as_they_are(store: LocalFilesAt, tmp_path: Path) -> None:
    trees, folder, base = made(store, tmp_path)
    assert {path: (folder / path).read_bytes() for path in BYTES} == BYTES
    assert trees.snapshot(str(folder), base).tree == base
    assert git(folder, "status", "--short") == ""


def test_the_users_git_sees_the_change_and_its_new_files(store: LocalFilesAt, tmp_path: Path) -> None:
    shown = {**BYTES, "no-end": b"y", "new.py": b"n\n"}
    del shown["mixed"]
    trees, folder, base = made(store, tmp_path, shown)
    assert git(folder, "status", "--short").splitlines() == [" D mixed", " A new.py", " M no-end"]
    assert "+n\n" in git(folder, "diff")
    assert git(folder, "log", "--format=%s%d") == "what comes before (HEAD -> topic/name)\n"
    listed = GitStore(store).list(trees.snapshot(str(folder), base).tree)
    assert {entry.path for entry in listed} == set(shown)


def test_what_the_users_git_does_never_reaches_the_store(store: LocalFilesAt, tmp_path: Path) -> None:
    _, folder, base = made(store, tmp_path)
    (folder / "no-end").write_bytes(b"other")
    before = sorted((tmp_path / "home").rglob("*"))
    git(folder, "-c", "user.name=x", "-c", "user.email=x", "commit", "-qam", "mine")
    git(folder, "gc", "-q", "--prune=now")
    assert sorted((tmp_path / "home").rglob("*")) == before
    assert GitStore(store).has_tree(base)


def test_settings_of_the_work_tree_change_no_snapshot(store: LocalFilesAt, tmp_path: Path) -> None:
    trees, folder, base = made(store, tmp_path)
    (folder / ".git/info/attributes").unlink()
    git(folder, "config", "core.autocrlf", "true")
    git(folder, "config", "filter.lfs.clean", "touch ran; cat")
    git(folder, "config", "core.fsmonitor", "touch ran; true")
    (folder / "latin").write_bytes(b"caf\xe9\r\n")
    snapshot = trees.snapshot(str(folder), base)
    assert GitStore(store).read(snapshot.tree, ["latin", "crlf.py"]) == {
        "latin": b"caf\xe9\r\n",
        "crlf.py": b"a\r\nb\r\n",
    }
    assert not list(tmp_path.rglob("ran"))


def test_ignored_files_are_left_out_and_told_unless_the_base_has_them(store: LocalFilesAt, tmp_path: Path) -> None:
    trees, folder, base = made(store, tmp_path)
    (folder / "tracked.pyc").write_bytes(b"changed\n")
    (folder / "other.pyc").write_bytes(b"x")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "run.log").write_text("x\n")
    (folder / ".git/info/exclude").open("a").write("mine.txt\n")
    (folder / "mine.txt").write_text("x\n")
    snapshot = trees.snapshot(str(folder), base)
    assert snapshot.left_out == ("mine.txt", "other.pyc", "run.log")
    paths = {entry.path for entry in GitStore(store).list(snapshot.tree)}
    assert paths == {*BYTES, ".gitignore"}
    assert GitStore(store).read(snapshot.tree, ["tracked.pyc"]) == {"tracked.pyc": b"changed\n"}


def test_names_that_are_no_utf8_come_through(store: LocalFilesAt, tmp_path: Path) -> None:
    trees, folder, base = made(store, tmp_path)
    name = b"caf\xe9.py".decode("utf-8", "surrogateescape")
    (folder / name).write_text("x\n")
    tree = trees.snapshot(str(folder), base).tree
    assert name in {entry.path for entry in GitStore(store).list(tree)}


def test_a_store_that_moved_is_lent_anew(store: LocalFilesAt, tmp_path: Path) -> None:
    _, folder, _ = made(store, tmp_path)
    (tmp_path / "home").rename(tmp_path / "elsewhere")
    moved = GitWorkTrees(LocalFilesAt(tmp_path / "elsewhere", tmp_path))
    moved.lend(str(folder))
    assert git(folder, "status", "--short") == ""


def test_a_tree_that_git_cannot_read_says_so(store: LocalFilesAt, tmp_path: Path) -> None:
    trees, folder, _ = made(store, tmp_path)
    with pytest.raises(StackctlError, match="git cannot read the work tree"):
        trees.snapshot(str(folder), TreeId("1" * 40))


def test_who_signs(store: LocalFilesAt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    trees = GitWorkTrees(store)
    assert trees.author() is None
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ä B\n\temail = a@b\n")
    assert trees.author() == "Ä B <a@b>"
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Other")
    assert trees.author() == "Other <a@b>"


@pytest.mark.parametrize("index", [b"", b"no index", None])
def test_a_second_look_sees_what_changed_since_whatever_became_of_its_notes(
    store: LocalFilesAt, tmp_path: Path, index: bytes | None
) -> None:
    trees, folder, base = made(store, tmp_path)
    (folder / "no-end").write_bytes(b"y")
    first = trees.snapshot(str(folder), base)
    assert trees.snapshot(str(folder), base) == first
    if index is not None:
        (folder / ".git/stackctl.index").write_bytes(index)
    (folder / "no-end").write_bytes(b"z")
    (folder / "mixed").unlink()
    second = trees.snapshot(str(folder), base)
    assert GitStore(store).read(second.tree, ["no-end", "mixed"]) == {"no-end": b"z"}
    (folder / "no-end").write_bytes(b"x")
    (folder / "mixed").write_bytes(BYTES["mixed"])
    assert trees.snapshot(str(folder), base).tree == base
