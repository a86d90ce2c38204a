"""The proof of a tree, against git itself."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.deploy.archive import archive
from stackctl.errors import StackctlError
from stackctl.onhost import tree
from stackctl.ports import TreeEntry

FILES = {
    "a.py": ("100644", b"one\n"),
    "a/b.sh": ("100755", b"#!/bin/sh\n"),
    "a.b/c": ("100644", b""),
    "a0": ("100644", b"\0\xff"),
    "python/pkg/__init__.py": ("100644", b""),
    "python/pkg/käse x.txt": ("100644", "ü".encode()),
    "python/pkg/link": ("120000", b"../../a.py"),
}


def packed(files: dict[str, tuple[str, bytes]] = FILES) -> bytes:
    entries = [TreeEntry(path, mode, "", len(data)) for path, (mode, data) in files.items()]
    return archive(entries, {path: data for path, (_, data) in files.items()})


def git_id(folder: Path) -> str:
    env = {
        "PATH": os.environ["PATH"],
        "GIT_DIR": str(folder / ".git"),
        "GIT_WORK_TREE": str(folder),
        "HOME": str(folder),
    }
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True, timeout=30, capture_output=True)
    done = subprocess.run(["git", "write-tree"], cwd=folder, env=env, check=True, timeout=30, capture_output=True)
    return done.stdout.decode().strip()


def unpacked(tmp_path: Path) -> tuple[Path, str]:
    """The folder of trees, and the id that is in it."""
    plain = {path: (mode, tree.blob_id(data)) for path, (mode, data) in FILES.items()}
    name = tree.tree_id(plain)
    assert tree.unpack(tmp_path / "trees", name, io.BytesIO(packed())) == {"tree": name, "files": len(FILES)}
    return tmp_path / "trees", name


def named(files: dict[str, tuple[str, bytes]]) -> str:
    return tree.tree_id({path: (mode, tree.blob_id(data)) for path, (mode, data) in files.items()})


def rewrite(path: Path, text: str) -> None:
    """Into the file itself, as an editor of somebody who insists does it."""
    path.chmod(0o644)
    path.write_text(text)


CHANGED = {**{path: what for path, what in FILES.items() if path != "a0"}, "a.py": ("100644", b"three\n")}
SENT, APART = {"a.py": CHANGED["a.py"]}, ["a.py", "a0"]


def test_a_tree_shares_what_it_has_in_common_with_another(tmp_path: Path) -> None:
    trees, first = unpacked(tmp_path)
    second = named(CHANGED)
    assert tree.unpack(trees, second, io.BytesIO(packed(SENT)), tree.Sibling(first, APART)) == {
        "tree": second,
        "files": 6,
    }
    assert tree.verify(trees, first) == tree.verify(trees, second) == []
    assert (trees / first / "a/b.sh").samefile(trees / second / "a/b.sh")
    assert not (trees / first / "a.py").samefile(trees / second / "a.py")
    assert stat.S_IMODE((trees / second / "a/b.sh").stat().st_mode) == 0o555
    assert stat.S_IMODE((trees / second / "a.py").stat().st_mode) == 0o444
    rewrite(trees / first / "a/b.sh", "mine")
    assert tree.verify(trees, first) == tree.verify(trees, second) == ["a/b.sh was changed"]


def test_copies_are_apart(tmp_path: Path) -> None:
    trees, first = unpacked(tmp_path)
    near = tree.Sibling(first, APART, copy=True)
    assert tree.unpack(trees, named(CHANGED), io.BytesIO(packed(SENT)), near)["tree"] == named(CHANGED)
    assert stat.S_IMODE((trees / named(CHANGED) / "a/b.sh").stat().st_mode) == 0o555
    rewrite(trees / first / "a/b.sh", "mine")
    assert tree.verify(trees, named(CHANGED)) == [] != tree.verify(trees, first)


def test_from_a_tree_that_somebody_changed_nothing_is_made(tmp_path: Path) -> None:
    trees, first = unpacked(tmp_path)
    before = sorted(path.name for path in trees.iterdir())
    rewrite(trees / first / "a/b.sh", "mine")
    said = tree.unpack(trees, named(CHANGED), io.BytesIO(packed(SENT)), tree.Sibling(first, APART))
    assert said["tree"] is None
    (trees / first / "a/b.sh").unlink()
    assert tree.unpack(trees, named(CHANGED), io.BytesIO(packed(SENT)), tree.Sibling(first, APART))["tree"] is None
    assert tree.unpack(trees, named(CHANGED), io.BytesIO(packed(SENT)), tree.Sibling("0" * 40, ()))["tree"] is None
    assert sorted(path.name for path in trees.iterdir()) == before
    assert tree.unpack(trees, named(CHANGED), io.BytesIO(packed(CHANGED)))["tree"] == named(CHANGED)
    assert tree.verify(trees, named(CHANGED)) == []


def test_what_arrives_is_never_written_into_a_shared_file(tmp_path: Path) -> None:
    trees, first = unpacked(tmp_path)
    with pytest.raises(FileExistsError):
        tree.unpack(trees, named(CHANGED), io.BytesIO(packed(SENT)), tree.Sibling(first, ["a0"]))
    assert tree.verify(trees, first) == []


def test_the_id_is_gits(tmp_path: Path) -> None:
    trees, name = unpacked(tmp_path)
    assert tree.verify(trees, name) == []
    assert git_id(trees / name) == name


@pytest.mark.slow
@given(st.dictionaries(st.from_regex(r"\A[a-c.0-]{1,3}\Z"), st.binary(max_size=5), min_size=1, max_size=6))
def test_any_order_of_names_is_gits(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    folder = tmp_path_factory.mktemp("git")
    manifest = {}
    for name, data in files.items():
        path = f"{name}d/{name}f" if len(name) > 1 else f"{name}f"
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
        manifest[path] = ("100644", tree.blob_id(data))
    assert git_id(folder) == tree.tree_id(manifest)


def test_a_tree_that_is_not_the_one_leaves_nothing(tmp_path: Path) -> None:
    said = tree.unpack(tmp_path / "trees", "0" * 40, io.BytesIO(packed()))
    assert said["tree"] is None and "not 0000" in said["problem"]
    assert list((tmp_path / "trees").iterdir()) == []


def test_half_an_archive_leaves_nothing(tmp_path: Path) -> None:
    whole = packed()
    name = tree.tree_id({path: (mode, tree.blob_id(data)) for path, (mode, data) in FILES.items()})
    with pytest.raises((EOFError, OSError, tarfile.TarError)):
        tree.unpack(tmp_path / "trees", name, io.BytesIO(whole[: len(whole) // 2]))
    assert list((tmp_path / "trees").iterdir()) == []


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x"])
def test_a_path_that_leaves_the_tree_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="leaves the tree"):
        tree.unpack(tmp_path / "trees", "0" * 40, io.BytesIO(packed({name: ("100644", b"")})))


def test_every_way_to_tamper_is_named(tmp_path: Path) -> None:
    trees, name = unpacked(tmp_path)
    here = trees / name
    rewrite(here / "a.py", "two\n")
    (here / "a/b.sh").chmod(0o644)
    (here / "a0").unlink()
    (here / "python/pkg/link").unlink()
    (here / "python/pkg/link").symlink_to("/etc/passwd")
    (here / "python/extra.py").write_text("")
    assert tree.verify(trees, name) == [
        "a0 is missing",
        "a.py was changed",
        "a/b.sh was changed",
        "python/extra.py is not of this tree",
        "python/pkg/link was changed",
    ]
    (trees / f"{name}.json").write_text('{"files": {}, "links": {}}')
    assert tree.verify(trees, name) == [f"{name}.json was changed: it does not describe this tree"]
    (trees / f"{name}.json").unlink()
    assert tree.verify(trees, name) == ["the tree is not whole"]


def test_native_files_of_the_installed_package_are_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees, name = unpacked(tmp_path)
    installed = tmp_path / "site" / "pkg"
    (installed / "srt").mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    (installed / "srt" / "_core.so").write_bytes(b"ELF")
    (installed / "old.py").write_text("not this one")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    assert tree.link_natives(trees, name) == 1
    link = trees / name / "python/pkg/srt/_core.so"
    assert link.read_bytes() == b"ELF" and link.is_symlink()
    assert tree.verify(trees, name) == []
    link.unlink()
    link.symlink_to("/etc/passwd")
    assert tree.verify(trees, name) == ["python/pkg/srt/_core.so is not of this tree"]
    (installed / "srt" / "_core.so").unlink()
    assert tree.link_natives(trees, name) == 0 and not link.is_symlink()


def test_a_submodule_is_refused_before_the_way() -> None:
    with pytest.raises(StackctlError, match="third_party/x is a submodule"):
        archive([TreeEntry("third_party/x", "160000", "", 0)], {})


def test_the_archive_is_the_same_every_time() -> None:
    assert packed() == packed()
