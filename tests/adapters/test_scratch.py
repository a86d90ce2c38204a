"""The folder in which foreign programs run: what is put in comes out, and what its walls keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackctl.adapters.process import LocalProcess
from stackctl.adapters.scratch import scratch
from stackctl.errors import StackctlError
from stackctl.ports import TreeFile

FILES = (
    TreeFile("python/a b.py", b"\xff\r\n"),
    TreeFile("python/run", b"#!/bin/sh\n", "100755"),
    TreeFile("link", b"python", "120000"),
)


def test_what_is_put_in_comes_out() -> None:
    with scratch(LocalProcess()) as box:
        box.put(FILES)
        (Path(box.root) / "python/__pycache__").mkdir()
        (Path(box.root) / "python/__pycache__/x.pyc").write_bytes(b"")
        assert sorted(box.files(), key=lambda file: file.path) == sorted(FILES, key=lambda file: file.path)
        root = Path(box.root)
    assert not root.parent.exists()


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    with scratch(LocalProcess()) as box, pytest.raises(StackctlError, match="outside"):
        box.put([TreeFile("out", str(tmp_path).encode(), "120000"), TreeFile("out/x", b"")])
    assert list(tmp_path.iterdir()) == []


def test_a_program_has_its_folder_and_nothing_else(tmp_path: Path) -> None:
    with scratch(LocalProcess()) as box:
        box.put(FILES)
        text = f"echo in > new; echo out > {tmp_path}/x; echo $HOME; cat {box.keep('k', b'kept')}; exit 5"
        ran = box.run(["sh", "-c", text], cwd=box.root)
        assert ran.code == 5
        assert ran.stdout.endswith(b"kept")
        assert TreeFile("new", b"in\n") in list(box.files())
        assert ("files" in box.walls()) == (not (tmp_path / "x").exists())
        assert (tmp_path / "x").exists() or "ead-only" in ran.stderr.decode()


def test_the_last_words_of_a_program() -> None:
    with scratch(LocalProcess()) as box:
        assert box.run(["sh", "-c", "echo a; echo b; echo >&2"], cwd=box.root).words == "b"
        assert box.run(["true"], cwd=box.root).words == "it said nothing"
        with pytest.raises(StackctlError, match="took longer"):
            box.run(["sleep", "60"], cwd=box.root, timeout=1)


def test_a_program_may_take_its_rights_away() -> None:
    with scratch(LocalProcess()) as box:
        box.put(FILES)
        box.run(["chmod", "0", "python"], cwd=box.root)
        root = Path(box.root)
    assert not root.exists()
