"""What an interpreter can import is tried once, as long as its environment is the one that stackctl made."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stackctl.onhost import prepare

WRITES: dict[str, object] = {"files": {}}


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The record of an environment that runs us, with a module `there_once`."""
    folder = tmp_path / "environment"
    (folder / "bin").mkdir(parents=True)
    (folder / "there_once.py").write_text("")
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
    monkeypatch.syspath_prepend(str(folder))
    record = folder / "stackctl-environment.json"
    record.write_text("{}")
    return record


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., list[str]]:
    root = tmp_path / "root"
    root.mkdir()

    def ask(*names: str, request: dict[str, object] = WRITES, paths: tuple[str, ...] = ()) -> list[str]:
        sys.modules.pop("there_once", None)
        return sorted(prepare.imported(root, set(names), list(paths), request))

    return ask


def test_what_could_be_imported_is_not_tried_again(made: Path, asked: Callable[..., list[str]], tmp_path: Path) -> None:
    assert asked("there_once", "never_there", request={}) == ["never_there"]
    assert list((tmp_path / "root").iterdir()) == []
    assert asked("there_once", "never_there") == ["never_there"]
    (made.parent / "there_once.py").unlink()
    assert asked("there_once", "never_there", "never_either") == ["never_either", "never_there"]
    shim = tmp_path / "shim"
    shim.mkdir()
    (shim / "sitecustomize.py").write_text("")
    assert asked("there_once", paths=(str(shim),), request={}) == ["there_once"]  # other shims, other answers
    os.utime(made, ns=(1, 1))
    assert asked("there_once") == ["there_once"]


def test_an_interpreter_of_somebody_else_is_asked_every_time(made: Path, asked: Callable[..., list[str]]) -> None:
    made.unlink()
    assert asked("there_once") == []
    (made.parent / "there_once.py").unlink()
    assert asked("there_once") == ["there_once"]
