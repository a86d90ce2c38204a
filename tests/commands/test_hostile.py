"""A hostile patch is refused, and nothing outside of the store is written: the real command line, watched.

Everything around it is compared before and after (names, modes, bytes, times), and where strace may be used every call
that could change a file is looked at.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commands.hostile import hostile
from tests.tracing import ELSEWHERE, STRACE, can_trace, changes

ROOT = Path(__file__).parents[2]
STACK = """
base: {path: ../../engine}
patches: [x/NAME]
model: {path: /m, name: m}
roles: {single: {host: a, port: 30000}}
hosts: {a: {address: local}}
"""
DRIVER = """
import contextlib, io, json, sys
from stackctl.cli import main
said = {}
for words in json.load(open(sys.argv[1])):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        code = main(words)
    said[" ".join(words)] = [code, text.getvalue()]
print(json.dumps(said))
"""
LEAVING = ("forbidden-name", "path-escape", "absolute-path", "bad-path", "symlink", "symlink-target", "gitlink")


@dataclass(frozen=True)
class Watched:
    """`answers`: command line -> exit code and all that it printed. `calls`: paths that something tried to change."""

    sandbox: Path
    kinds: dict[str, str]
    before: dict[str, str]
    after: dict[str, str]
    answers: dict[str, tuple[int, str]]
    calls: list[str] | None


def sandbox_at(folder: Path) -> tuple[Path, dict[str, str]]:
    """Home, scratch, base, workspace and a neighbour with something to steal and to overwrite."""
    for name in (
        "home",
        "tmp",
        "store",
        "engine/python/pkg",
        "ws/stacks",
        "ws/patches/x",
        "neighbour",
        "ws/.git/hooks",
    ):
        (folder / name).mkdir(parents=True)
    (folder / "home/.gitconfig").write_text("[core]\n\thooksPath = /tmp\n")
    (folder / "neighbour/secret").write_text("one\n")
    (folder / "engine/python/pkg/one.py").write_text("one\n")
    (folder / "ws/.git/config").write_text("[core]\n\tbare = false\n")
    patches = hostile(folder / "neighbour")
    for name, (data, _) in patches.items():
        (folder / f"ws/patches/x/{name}.patch").write_bytes(data)
        (folder / f"ws/stacks/{name}.yaml").write_text(STACK.replace("NAME", name))
    (folder / "ws/stacks/plain.yaml").write_text(STACK.replace("x/NAME", ""))
    return folder, {name: kind for name, (_, kind) in patches.items()}


def snapshot(folder: Path) -> dict[str, str]:
    """Everything but the store: path -> mode, time, and content or target."""
    found = {}
    for parent, folders, names in os.walk(folder):
        if Path(parent) == folder:
            folders.remove("store")
        for name in [*folders, *names]:
            path = Path(parent, name)
            facts = path.lstat()
            data = str(path.readlink()) if path.is_symlink() else "" if path.is_dir() else path.read_bytes()
            content = hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()
            inside = path.is_relative_to(folder / "tmp")
            found[str(path)] = f"{facts.st_mode:o} {0 if inside else facts.st_mtime_ns} {content}"
    return found


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    sandbox, kinds = sandbox_at(tmp_path_factory.mktemp("hostile"))
    words = [[*verb, name] for name in kinds for verb in (["check"], ["patches", "verify"], ["patches", "diff"])]
    words += [["patches", "import", "-n", "--patch", f"patches/x/{name}.patch", "plain"] for name in kinds]
    (sandbox / "words.json").write_text(json.dumps(words))
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(sandbox / "home"),
        "TMPDIR": str(sandbox / "tmp"),
        "STACKCTL_HOME": str(sandbox / "store"),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    argv = [sys.executable, "-c", DRIVER, str(sandbox / "words.json")]
    trace = sandbox.parent / "trace.txt"
    strace = can_trace()
    before = snapshot(sandbox)
    prefix = [*STRACE, "-o", str(trace)] if strace else []
    done = subprocess.run([*prefix, *argv], cwd=sandbox / "ws", env=env, capture_output=True, text=True, check=True)
    calls = changes(trace, sandbox / "ws") if strace else None
    answers = {line: (code, text) for line, (code, text) in json.loads(done.stdout).items()}
    return Watched(sandbox, kinds, before, snapshot(sandbox), answers, calls)


@pytest.mark.slow
def test_every_hostile_patch_is_refused_with_its_kind_and_place(watched: Watched) -> None:
    for name, kind in watched.kinds.items():
        for verb in ("check", "patches verify", "patches diff"):
            code, text = watched.answers[f"{verb} {name}"]
            assert code in (2, 3), (verb, name, text)
            assert f"patches/x/{name}.patch:" in text, (verb, name, text)
            assert kind in text, (verb, name, kind, text)
            assert "hint: " in text or verb == "patches verify", (verb, name, text)
            assert "fault of stackctl itself" not in text, (verb, name, text)


@pytest.mark.slow
def test_an_import_takes_nothing_that_leaves_the_tree(watched: Watched) -> None:
    for name, kind in watched.kinds.items():
        code, text = watched.answers[f"patches import -n --patch patches/x/{name}.patch plain"]
        assert "fault of stackctl itself" not in text, (name, text)
        if kind in LEAVING:
            assert code in (1, 2, 3), (name, text)
            assert kind in text, (name, kind, text)


@pytest.mark.slow
def test_nothing_around_the_store_has_changed(watched: Watched) -> None:
    assert watched.after == watched.before


@pytest.mark.slow
def test_no_call_wanted_to_change_anything_else(watched: Watched) -> None:
    if watched.calls is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("strace is not here, or may not trace")
    allowed = (f"{watched.sandbox}/store", f"{watched.sandbox}/tmp")
    assert any(path.startswith(allowed[0]) for path in watched.calls), "the trace saw nothing"
    others = {path for path in watched.calls if not path.startswith(allowed + ELSEWHERE)}
    assert not others
