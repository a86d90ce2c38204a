"""Bytecode beside a tree: made once, shared, never stale, never trusted further than it is written down."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from stackctl.onhost import bytecode, tree
from tests.onhost.test_tree import named, packed, rewrite

FILES = {
    "python/pkg/__init__.py": ("100644", b""),
    "python/pkg/one.py": ("100755", b"WHO = 'one'\ndef fail(): raise KeyError\n"),
    "python/pkg/two.py": ("100644", b"WHO = 'two'\n"),
    "python/pkg/broken.py": ("100644", b"this is no Python\n"),
    "python/pkg/data.txt": ("100644", b"WHO = 'data'\n"),
}
OTHER = {**FILES, "python/pkg/two.py": ("100644", b"WHO = 'TWO'\n")}


def place(path: str) -> str:
    return importlib.util.cache_from_source(f"python/pkg/{path}")


def made(trees: Path, files: dict[str, tuple[str, bytes]]) -> str:
    name = named(files)
    assert tree.unpack(trees, name, io.BytesIO(packed(files)))["tree"] == name
    bytecode.complete(trees, name)
    return name


def written(trees: Path, name: str) -> dict[str, str]:
    found = json.loads((trees / f"{name}.json").read_text())["bytecode"]["files"]
    assert isinstance(found, dict)
    return found


def said(folder: Path, ask: str) -> str:
    env = {"PYTHONPATH": str(folder / "python"), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1"}
    done = subprocess.run([sys.executable, "-c", ask], env=env, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def test_all_that_compiles_is_there_and_the_tree_is_still_itself(tmp_path: Path) -> None:
    name = made(tmp_path, FILES)
    assert sorted(written(tmp_path, name)) == sorted(map(place, ["__init__.py", "one.py", "two.py"]))
    assert tree.verify(tmp_path, name) == []
    assert said(tmp_path / name, "import pkg.two as m; print(m.WHO, m.__cached__)").split() == [
        "two",
        str(tmp_path / name / place("two.py")),
    ]
    before = (tmp_path / f"{name}.json").stat().st_mtime_ns
    bytecode.complete(tmp_path, name)
    assert (tmp_path / f"{name}.json").stat().st_mtime_ns == before


def test_another_tree_links_that_of_equal_sources_and_tells_its_own_path(tmp_path: Path) -> None:
    first, second = made(tmp_path, FILES), made(tmp_path, OTHER)
    shared, own = place("one.py"), place("two.py")
    assert (tmp_path / first / shared).samefile(tmp_path / second / shared)
    assert not (tmp_path / first / own).samefile(tmp_path / second / own)
    assert tree.verify(tmp_path, first) == tree.verify(tmp_path, second) == []
    ask = "import pkg.one, pkg.two; print(pkg.two.WHO, pkg.one.fail.__code__.co_filename)"
    assert said(tmp_path / second, ask) == f"TWO {tmp_path / second / 'python/pkg/one.py'}"


def test_stale_bytecode_does_not_run(tmp_path: Path) -> None:
    """Same length, same time: what Python compares by default."""
    name = made(tmp_path, FILES)
    source = tmp_path / name / "python/pkg/two.py"
    when = source.stat()
    rewrite(source, "WHO = 'owt'\n")
    os.utime(source, ns=(when.st_atime_ns, when.st_mtime_ns))
    assert said(tmp_path / name, "import pkg.two; print(pkg.two.WHO)") == "owt"


def test_what_was_changed_is_refused_and_what_nobody_wrote_down_is_removed(tmp_path: Path) -> None:
    name = made(tmp_path, FILES)
    folder = tmp_path / name
    foreign = folder / "python/pkg/__pycache__/two.cpython-30.pyc"
    foreign.write_bytes(b"of another interpreter")
    (foreign.parent / "deep").mkdir()
    py_compile.compile(str(folder / "python/pkg/data.txt"), cfile=str(folder / place("broken.py")))
    (folder / place("one.py")).unlink()
    assert tree.verify(tmp_path, name) == []
    assert {path.name for path in foreign.parent.iterdir()} == {Path(place(n)).name for n in ("__init__.py", "two.py")}
    changed = folder / place("two.py")
    changed.write_bytes(changed.read_bytes()[:-1] + b"x")
    assert tree.verify(tmp_path, name) == [f"{place('two.py')} was changed"]
    changed.unlink()
    changed.symlink_to(folder / "python/pkg/data.txt")
    assert tree.verify(tmp_path, name) == [f"{place('two.py')} was changed"]


def test_one_without_a_source_beside_the_tree_is_foreign(tmp_path: Path) -> None:
    name = made(tmp_path, FILES)
    (tmp_path / name / "python/pkg/three.pyc").write_bytes(b"")
    (tmp_path / name / "python/__pycache__").symlink_to(tmp_path)
    assert tree.verify(tmp_path, name) == [
        "python/__pycache__ is not of this tree",
        "python/pkg/three.pyc is not of this tree",
    ]


def test_changed_bytecode_of_another_tree_is_not_taken(tmp_path: Path) -> None:
    first = made(tmp_path, FILES)
    changed = tmp_path / first / place("one.py")
    changed.write_bytes(changed.read_bytes()[:-1] + b"x")
    second = made(tmp_path, OTHER)
    assert tree.verify(tmp_path, second) == [] != tree.verify(tmp_path, first)


def test_that_of_another_interpreter_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = made(tmp_path, FILES)
    monkeypatch.setattr(bytecode, "MAGIC", "another one")
    before = (tmp_path / name / place("one.py")).stat().st_ino
    bytecode.complete(tmp_path, name)
    assert (tmp_path / name / place("one.py")).stat().st_ino != before
    assert json.loads((tmp_path / f"{name}.json").read_text())["bytecode"]["magic"] == "another one"
    assert tree.verify(tmp_path, name) == []


def test_what_is_no_whole_tree_is_left_alone(tmp_path: Path) -> None:
    bytecode.complete(tmp_path, "0" * 40)
    assert list(tmp_path.iterdir()) == []
