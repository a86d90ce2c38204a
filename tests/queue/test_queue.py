"""Real patches on the real modules of the patched tree: right with the patch, and shown to fail without it.

Each program of real/ runs in the environment's interpreter, on the tree with exactly the patch's closure. On the base
it has to fail by an assertion: a test that only cannot import what the patch adds would prove nothing.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.net]

HERE = Path(__file__).resolve().parent
CPU = HERE.parents[1] / "stacks" / "cpu"
PATCHES = {
    "sm120/prefill-dispatch": "prefill_dispatch.py",
    "parser/dsv4-keep-text": "dsv4_keep_text.py",
}


def run(interpreter: str, argv: list[str], tree: Path | None = None) -> subprocess.CompletedProcess[str]:
    path = [str(tree / "python")] if tree else []
    env = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": os.environ.get("HOME", "/"),
        "PYTHONPATH": os.pathsep.join([*path, str(CPU / "shim")]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run([interpreter, *argv], env=env, capture_output=True, text=True, timeout=280)


@pytest.mark.parametrize("patch", PATCHES)
def test_right_with_the_patch(patch: str, interpreter: str, tree: Callable[..., Path]) -> None:
    done = run(interpreter, [str(HERE / "real" / PATCHES[patch])], tree(patch))
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize("patch", PATCHES)
def test_fails_without_the_patch(patch: str, interpreter: str, tree: Callable[..., Path]) -> None:
    done = run(interpreter, [str(HERE / "real" / PATCHES[patch])], tree())
    assert done.returncode == 1, done.stderr[-4000:]
    assert "\nFAIL: " in done.stderr, done.stderr[-4000:]
    assert "\nERROR: " not in done.stderr, done.stderr[-4000:]


def test_the_answers_in_the_repository_are_those_of_the_model(interpreter: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        done = run(interpreter, [str(CPU / "make_model.py"), str(tmp_path / name)])
        assert done.returncode == 0, done.stderr[-4000:]
    names = sorted(file.name for file in (tmp_path / "one").iterdir())
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), f"{name} is not stable"
    for name in ("expected.json", "expected-text-and-call.json"):
        assert (tmp_path / "one" / name).read_bytes() == (CPU / name).read_bytes(), f"make {name} anew"
