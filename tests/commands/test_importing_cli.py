"""The two verbs on the command line: what they print, what --json holds, which exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackctl.cli import main
from tests import forks
from tests.commands.import_world import World, diff, edit

pytestmark = pytest.mark.slow
A = "python/pkg/a.py"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)
    monkeypatch.chdir(world.workspace)
    monkeypatch.setenv("STACKCTL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("STACKCTL_YES", raising=False)
    return world


def test_import_and_export(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    fork = world.fork()
    edit(fork / A, 10, "ten")
    commit = forks.commit(fork, "Say ten", 1)
    words = ["patches", "import", "s", "--from", "../fork", "--range", "main~1..main", "--topic", "mine"]
    assert main([*words, "-n"]) == 0
    said = capsys.readouterr().out
    assert "would write patches/mine/say-ten.patch  +1 -1 in 1 file  from commit" in said
    assert f"  - mine/say-ten  # commit {commit[:12]}" in said
    assert world.written() == {}
    assert main([*words, "--add"]) == 0
    said = capsys.readouterr().out
    assert "wrote patches/mine/say-ten.patch" in said
    assert "+  - mine/say-ten\n" in said
    assert "the same tree" in said
    assert main(["patches", "export", "s", "--branch", "b", "--to", "../fork", "--parent", "main~1"]) == 0
    assert f"tip {forks.git(fork, 'rev-parse', 'b')}" in capsys.readouterr().out
    assert main(["patches", "verify", "s"]) == 0


def test_json_changes_nothing_without_yes(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    file = world.put("x.patch", diff(A, 5, "x"))
    words = ["patches", "import", "s", "--patch", str(file), "--json"]
    assert main(words) == 2
    assert main([*words, "-n"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["dry_run"], found["source_tree"]) == (True, found["result_tree"])
    assert world.written() == {}
    assert main([*words, "--yes"]) == 0
    assert set(world.written()) == {"imported/x.patch"}
    assert main(["patches", "export", "s", "--mbox", "x", "--json"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["import"], "say one of --installed"),
        (["import", "--mbox", "x", "--folder", "y"], "say one of --installed"),
        (["import", "--from", "x"], "--from wants --range"),
        (["import", "--mbox", "none"], "there is no file none"),
        (["import", "--folder", "stacks"], "holds no patches"),
        (["export", "--mbox", "-"], "--mbox takes the name of a file"),
        (["import", "--overlay", "x"], "wants two names"),
        (["import", "--overlay", "x=y"], "one for each"),
        (["import", "--mbox", "x", "--name", "a=b"], "--name wants NAME or NUMBER=NAME"),
        (["import", "--mbox", "x", "--root", "a"], "--root wants two names"),
        (["export"], "say --branch NAME"),
        (["export", "--branch", "x", "--mbox", "y"], "say --branch NAME"),
        (["export", "--branch", "x"], "where to?"),
    ],
)
def test_wrong_usage(world: World, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    world.edit("t", 10, "ten")
    world.stack_file("t")
    assert main(["patches", *words, *(["s"] if words[0] == "import" else [])]) == 2
    assert said in capsys.readouterr().err


def test_a_conflict_is_exit_3(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    file = world.put("x.patch", diff(A, 5, "x").replace("line 4", "line four"))
    assert main(["patches", "import", "s", "--patch", str(file)]) == 3
    assert "x.patch" in capsys.readouterr().err


def test_an_installation_that_is_the_base(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["patches", "import", "s", "--installed", "../engine/python"]) == 0
    assert "nothing to import" in capsys.readouterr().out
