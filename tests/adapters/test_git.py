"""The real git: sealed, exact, and safe to use from several processes at once."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from stackctl.adapters.git import GitStore
from stackctl.core.names import Commit, TreeId
from stackctl.errors import StackctlError
from stackctl.ports import TreeFile
from tests.fakes import LocalFilesAt

EMPTY = TreeId("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
FILES = (
    TreeFile("a/b c.txt", b"one\ntwo\n"),
    TreeFile("a/größe", b"\xff\x00raw"),
    TreeFile("run.sh", b"#!/bin/sh\n", "100755"),
    TreeFile("link", b"run.sh", "120000"),
    TreeFile("empty", b""),
)
EDIT = b"--- a/a/b c.txt\n+++ b/a/b c.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"


@pytest.fixture
def store(tmp_path: Path) -> GitStore:
    return GitStore(LocalFilesAt(tmp_path / "home", tmp_path))


def git(folder: Path, *args: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(
        ["git", *identity, *args], cwd=folder, env=env, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def upstream(tmp_path: Path) -> tuple[Path, list[Commit]]:
    """A repository with three commits on `main`, the first of them also on `old`."""
    folder = tmp_path / "upstream"
    folder.mkdir()
    git(folder, "init", "-q")
    commits = []
    for number in range(3):
        (folder / "f.txt").write_text(f"{number}\n")
        git(folder, "add", "f.txt")
        git(folder, "commit", "-q", "-m", str(number))
        commits.append(Commit(git(folder, "rev-parse", "HEAD")))
        if number == 0:
            git(folder, "branch", "old")
    return folder, commits


def test_what_is_written_is_read_back(store: GitStore) -> None:
    tree = store.write_tree(FILES)
    assert store.has_tree(tree)
    assert not store.has_tree(TreeId("0" * 40))
    assert {(e.path, e.mode, e.size) for e in store.list(tree)} == {(f.path, f.mode, len(f.data)) for f in FILES}
    assert store.read(tree, [f.path for f in FILES]) == {f.path: f.data for f in FILES}
    assert store.read(tree, ["none", "a", "a\nb"]) == {}
    ids = {entry.path: entry.blob for entry in store.list(tree)}
    known = store.read_blobs([*ids.values(), "0" * 40, tree])
    assert {path: known[blob] for path, blob in ids.items()} == {f.path: f.data for f in FILES}
    assert "0" * 40 not in known and tree not in known
    assert store.write_tree(reversed(FILES)) == tree
    assert store.write_tree(()) == EMPTY


def test_the_users_git_has_no_say(store: GitStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = store.write_tree(FILES)
    changed = store.apply(tree, [(EDIT, 1)]).tree
    assert changed is not None
    diff = store.diff(tree, changed)
    (tmp_path / ".gitconfig").write_text(
        "[core]\n\tautocrlf = true\n[diff]\n\tnoprefix = true\n[apply]\n\twhitespace = fix\n"
    )
    for name, value in {
        "HOME": str(tmp_path),
        "GIT_DIR": str(tmp_path),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path),
        "GIT_WORK_TREE": str(tmp_path),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "nonsense",
        "GIT_EXTERNAL_DIFF": "false",
        "LC_ALL": "de_DE.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)
    assert store.write_tree(FILES) == tree
    assert store.apply(tree, [(EDIT, 1)]).tree == changed
    assert store.diff(tree, changed) == diff
    assert not (tmp_path / "index").exists()


def test_apply_inside_of_somebodys_checkout_still_applies(
    store: GitStore, upstream: tuple[Path, list[Commit]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(upstream[0])  # git would skip such a patch there, and exit with 0
    tree = store.write_tree(FILES)
    patch = b"diff --git a/run.sh b/run.sh\n" + EDIT.replace(b"a/a/b c.txt", b"a/run.sh").replace(
        b"b/a/b c.txt", b"b/run.sh"
    ).replace(b" one\n-two\n+2\n", b" #!/bin/sh\n+true\n").replace(b"-1,2 +1,2", b"-1 +1,2")
    applied = store.apply(tree, [(patch, 1)])
    assert applied.tree is not None
    assert store.read(applied.tree, ["run.sh"])["run.sh"] == b"#!/bin/sh\ntrue\n"
    assert git(upstream[0], "status", "--short") == ""


def test_a_refused_patch_changes_nothing_and_is_quoted(store: GitStore) -> None:
    tree = store.write_tree(FILES)
    applied = store.apply(tree, [(EDIT, 1), (EDIT, 1)])
    assert applied.tree is None
    assert "patch does not apply" in applied.output


def test_strip_levels_may_differ_within_a_queue(store: GitStore) -> None:
    tree = store.write_tree(FILES)
    other = b"--- run.sh\n+++ run.sh\n@@ -1 +1,2 @@\n #!/bin/sh\n+true\n"
    applied = store.apply(tree, [(EDIT, 1), (other, 0)])
    assert applied.tree is not None
    assert len(store.diff(tree, applied.tree, stat=True).splitlines()) == 3


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_commit_is_fetched_once_by_any_way(
    store: GitStore, upstream: tuple[Path, list[Commit]], which: int, tmp_path: Path
) -> None:
    folder, commits = upstream
    assert store.tree_of_commit(commits[which]) is None
    tree = store.fetch_commit(str(folder), "main", commits[which])
    assert store.read(tree, ["f.txt"]) == {"f.txt": f"{which}\n".encode()}
    folder.rename(tmp_path / "away")
    assert store.fetch_commit(str(folder), "main", commits[which]) == tree


def test_a_url_of_a_file_works_too(store: GitStore, upstream: tuple[Path, list[Commit]]) -> None:
    assert store.fetch_commit(f"file://{upstream[0]}", "old", upstream[1][0])


def test_a_commit_that_is_not_there(store: GitStore, upstream: tuple[Path, list[Commit]]) -> None:
    with pytest.raises(StackctlError, match="has no commit 1111") as caught:
        store.fetch_commit(str(upstream[0]), "main", Commit("1" * 40))
    assert "ls-remote" in (caught.value.hint or "")


@pytest.mark.parametrize("url", ["https://user:secret@127.0.0.1:9/x.git", "/no/such/repository"])
def test_a_server_that_cannot_be_reached(store: GitStore, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(StackctlError, match="cannot reach") as caught:
        store.fetch_commit(url, "main", Commit("1" * 40))
    assert "secret" not in str(caught.value)
    assert "network" in (caught.value.hint or "")
    assert "fatal: " in caught.value.message  # the reason, not the advice that git ends with


@pytest.mark.parametrize(
    ("url", "ref", "commit"),
    [
        ("--upload-pack=id", "main", "1" * 40),
        ("-x", "main", "1" * 40),
        ("ext::sh -c id", "main", "1" * 40),
        ("http://example.org/x", "main", "1" * 40),
        ("git://example.org/x", "main", "1" * 40),
        ("ssh://-oProxyCommand=id/x", "main", "1" * 40),
        ("relative/path", "main", "1" * 40),
        ("/x", "--upload-pack=id", "1" * 40),
        ("/x", "a:b", "1" * 40),
        ("/x", "a..b", "1" * 40),
        ("/x", "", "1" * 40),
        ("/x", "main", "1234567"),
        ("/x", "main", "-" + "1" * 39),
    ],
)
def test_unsafe_words_never_reach_git(store: GitStore, url: str, ref: str, commit: str, tmp_path: Path) -> None:
    with pytest.raises(StackctlError) as caught:
        store.fetch_commit(url, ref, Commit(commit))
    assert caught.value.hint
    assert not (tmp_path / "home").exists()


def write_somewhere(home: str) -> str:
    return GitStore(LocalFilesAt(Path(home), Path(home))).write_tree(FILES)


@pytest.mark.slow
def test_several_processes_may_make_the_store_at_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        trees = pool.map(write_somewhere, [str(tmp_path / "home")] * 8)
    assert len(set(trees)) == 1
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["store.git"]


def test_what_cannot_be_taken_in_leaves_nothing(store: GitStore, tmp_path: Path) -> None:
    store.write_tree(FILES[:1])
    before = sorted(path for path in (tmp_path / "home").rglob("*"))
    with pytest.raises(StackctlError, match="git fast-import failed in the store: fatal:") as caught:
        store._take_in(b"blob\ndata 100000\nends too early")
    assert "\n" not in caught.value.message
    assert before == sorted(path for path in (tmp_path / "home").rglob("*"))


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StackctlError) as caught:
        GitStore(LocalFilesAt(tmp_path / "file" / "home", tmp_path)).write_tree(FILES)
    assert "STACKCTL_HOME" in (caught.value.hint or "")


FETCH = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
from pathlib import Path
from stackctl.adapters.git import GitStore
from tests.fakes import LocalFilesAt
home = Path(sys.argv[1])
GitStore(LocalFilesAt(home, home)).fetch_commit(sys.argv[2], "main", "1" * 40)
"""


def running(word: str) -> list[str]:
    """Command lines of this machine that hold the word."""
    lines = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit():
                lines.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return [line for line in lines if word in line]


@pytest.mark.slow
def test_ctrl_c_in_a_fetch_leaves_no_git_and_nothing_half(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}/x.git"
        words = [sys.executable, "-c", FETCH, str(tmp_path / "home"), url]
        child = subprocess.Popen(words, cwd=Path(__file__).parents[2], stderr=subprocess.PIPE, env=without_proxies())
        server.settimeout(60)
        connection, _ = server.accept()  # git is waiting for an answer now
        with connection:
            child.send_signal(signal.SIGINT)
            said = child.communicate(timeout=60)[1]
        assert b"KeyboardInterrupt" in said
    assert running(url) == []
    assert list((tmp_path / "home" / "store.git" / "objects").glob("**/*pack*/*")) == []


def without_proxies() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def test_words_of_the_python_files_of_a_tree(store: GitStore) -> None:
    files = (TreeFile("a/b.py", b"def known(x_1):\n    pass\n"), TreeFile("c.txt", b"unknown\n"))
    tree = store.write_tree(files)
    assert store.words(tree, {"known", "unknown", "x_1", "x"}) == {"known", "x_1"}
    assert store.words(tree, {"nothing"}) == store.words(tree, set()) == frozenset()
