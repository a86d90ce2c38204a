"""Programs for a host as they go there: joined into one text, run by an interpreter that knows no stackctl."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stackctl.core.deploy.bundle import NEEDS, bundle
from stackctl.onhost import hold, imports
from tests.fakes import RepositoryTemplates

ONHOST = Path(__file__).parents[2] / "stackctl" / "onhost"
OLDEST = (3, 9)


def text(name: str) -> str:
    return bundle(name, {one: RepositoryTemplates().onhost(f"{one}.py") for one in (name, *NEEDS[name])})


def ask(name: str, request: dict[str, Any], cwd: Path) -> dict[str, Any]:
    by_stdin = name == "prepare"
    argv = [sys.executable, "-I", "-S", "-c", text(name), *([] if by_stdin else [json.dumps(request)])]
    given = json.dumps(request) if by_stdin else ""
    done = subprocess.run(argv, input=given, capture_output=True, text=True, cwd=cwd, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_each_is_told_all_that_it_needs_and_is_old_python(name: str) -> None:
    for one in (name, *NEEDS[name]):
        source = (ONHOST / f"{one}.py").read_text()
        for node in ast.walk(ast.parse(source, feature_version=OLDEST)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stackctl"):
                assert {alias.name for alias in node.names} <= set(NEEDS[name])


def test_nothing_is_there_yet(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    said = ask("look", {"root": str(tmp_path / "none")}, tmp_path)
    assert said["current"] is None and said["releases"] == [] and said["processes"] == [] and said["free"] > 0


def test_a_hold_has_one_holder_and_only_its_attempt_frees_it(tmp_path: Path) -> None:
    root = str(tmp_path / "stack")
    first, second = {"attempt": "a", "who": "x"}, {"attempt": "b", "who": "y"}
    assert ask("hold", {"do": "take", "root": root, "details": first}, tmp_path) == {"taken": True}
    said = ask("hold", {"do": "take", "root": root, "details": second}, tmp_path)
    assert not said["taken"] and said["holder"]["who"] == "x" and said["cutover"] is False
    assert not ask("hold", {"do": "free", "root": root, "attempt": "b"}, tmp_path)["freed"]
    assert ask("hold", {"do": "free", "root": root, "attempt": "a"}, tmp_path)["freed"]
    assert ask("hold", {"do": "take", "root": root, "details": second}, tmp_path)["taken"]
    assert [path.name for path in Path(root).iterdir()] == ["hold"]


def release(root: Path, name: str, when: float, tree: str) -> None:
    folder = root / "releases" / name
    (folder / "run").mkdir(parents=True)
    (folder / "record.json").write_text(json.dumps({"when": when, "tree": tree}))
    (root / "trees" / tree).mkdir(parents=True, exist_ok=True)
    (root / "trees" / f"{tree}.json").write_text("{}")


def test_a_hold_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """Details that no JSON can hold stand for a disk that is full."""
    with pytest.raises(TypeError):
        hold.take(str(tmp_path), {"attempt": "a1", "what": object()})
    assert list(tmp_path.iterdir()) == []


def test_prune_keeps_what_counts(tmp_path: Path) -> None:
    for when, name in enumerate(["current", "previous", "tried", "old", "newer", "newest"]):
        release(tmp_path, name, when, f"tree-{name}")
    release(tmp_path, "same-tree", 0.5, "tree-current")
    for link in ("current", "previous"):
        (tmp_path / link).symlink_to(f"releases/{link}")
    (tmp_path / "status.json").write_text(json.dumps({"state": "running", "release": "tried", "old": "current"}))
    (tmp_path / "models" / "nobodys").mkdir(parents=True)
    request = {"root": str(tmp_path), "keep": 2}
    would = ask("prune", {**request, "dry": True}, tmp_path)
    assert (tmp_path / "releases" / "old").exists() and (tmp_path / "trees" / "tree-old.json").exists()
    said = ask("prune", request, tmp_path)
    names = {kind: [item["name"] for item in items] for kind, items in said.items()}
    assert said == would
    assert names == {"releases": ["old", "same-tree"], "trees": ["tree-old"], "models": ["nobodys"]}
    assert all(item["bytes"] > 0 for item in said["releases"])
    assert not (tmp_path / "trees" / "tree-old.json").exists() and (tmp_path / "trees" / "tree-current").exists()


def test_prepare_writes_only_what_it_is_given(tmp_path: Path) -> None:
    request = {
        "root": str(tmp_path / "stack"), "tree": "0" * 40, "module": "nowhere.to.be.found", "paths": [],
        "packages": {"no-such-package": "no_such_package"}, "ports": [], "cards": [],
    }  # fmt: skip
    said = ask("prepare", request, tmp_path)
    assert said["tree"] is None and said["versions"] == {"no-such-package": None}
    assert "no_such_package" in said["imports"] and "nowhere.to.be.found" not in said["imports"]
    assert not (tmp_path / "stack").exists()
    ask("prepare", {**request, "files": {"releases/r/run.sh": "#!/bin/sh\n", "x": "y"}}, tmp_path)
    assert (tmp_path / "stack/releases/r/run.sh").stat().st_mode & 0o100
    assert (tmp_path / "stack/x").read_text() == "y"


def test_prepare_tells_a_script_that_the_shell_cannot_read(tmp_path: Path) -> None:
    files = {"r/good.sh": "#!/bin/sh\nexec true\n", "r/bad.sh": "#!/bin/sh\nif then\n", "r/none.json": "if then"}
    request = {
        "root": str(tmp_path), "tree": "0" * 40, "module": "x", "paths": [], "packages": {}, "ports": [], "cards": [],
        "files": files,
    }  # fmt: skip
    (fault,) = ask("prepare", request, tmp_path)["scripts"]
    assert fault.startswith("bad.sh: ") and "2" in fault
    assert not (tmp_path / "r").exists()  # it may be the release that serves


def test_imports_of_a_tree_are_followed_but_not_run(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "serve.py").write_text(
        "import json, missing_one\nfrom pkg import helper\nfrom . import other\n"
        "try:\n    import optional_one\nexcept ImportError:\n    pass\nraise SystemExit('it ran')\n"
    )
    (package / "helper.py").write_text("from missing_two.sub import x\ndef f():\n    import lazy_one\n")
    (package / "other.py").write_text("from .deep import y\n")
    (package / "deep.py").write_text("import missing_three as z\n")
    assert sorted(imports.missing("pkg.serve", [str(tmp_path)])) == ["missing_one", "missing_three", "missing_two"]
    assert list(imports.missing("pkg.nowhere", [str(tmp_path)])) == ["pkg.nowhere"]
