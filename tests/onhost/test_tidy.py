"""Environments and downloads that go, and those that stay, on folders that look like a host's."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stackctl.onhost import disk, tidy
from stackctl.onhost.environment import RECORD

LONG_AGO = time.time() - 2 * tidy.OLD


class Place:
    """`home`: environments and downloads; `stacks`: what ~/.stackctl is."""

    def __init__(self, folder: Path) -> None:
        self.home, self.stacks = folder / "store", folder / "stacks"
        self.environments = self.home / "environments"
        self.environments.mkdir(parents=True)

    def environment(self, key: str, *, whole: bool = True) -> Path:
        folder = self.environments / key
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").write_bytes(b"x" * 9000)
        folder.with_suffix(".log").write_text("made")
        if whole:
            (folder / RECORD).write_text("{}" if not whole else '{"python": "3.11"}')
        return folder

    def release(self, stack: str, python: Path | str) -> None:
        folder = self.stacks / stack / "releases" / "r"
        folder.mkdir(parents=True)
        (folder / "record.json").write_text(json.dumps({"python": str(python)}))

    def ask(self, **more: Any) -> dict[str, Any]:
        request = {"stacks": str(self.stacks), "stack": "mine", "environments": str(self.environments)}
        return tidy.main({**request, "downloads": str(self.home), **more})

    def gone(self, **more: Any) -> dict[str, str]:
        return {item["name"]: item["why"] for item in self.ask(**more)["environments"]}

    def left(self) -> set[str]:
        return {path.name for path in self.environments.iterdir() if path.is_dir()}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return Place(tmp_path)


def test_only_environments_that_nobody_names_go(place: Place) -> None:
    used, unused, half = place.environment("used"), place.environment("unused"), place.environment("half", whole=False)
    place.release("other", used / "bin" / "python")
    place.release("elsewhere", "/usr/bin/python3")
    (place.stacks / "broken" / "releases" / "r").mkdir(parents=True)
    (place.stacks / "broken" / "releases" / "r" / "record.json").write_text("{half a")
    wanted = {"unused": "no release runs by it", "half": "half-built"}
    assert place.gone(dry=True) == wanted and place.left() == {"used", "unused", "half"}
    (size,) = {item["bytes"] for item in place.ask(dry=True)["environments"] if item["name"] == "half"}
    assert size >= 9000
    assert place.gone() == wanted and place.left() == {"used"}
    assert not unused.with_suffix(".log").exists() and not half.exists()
    assert used.with_suffix(".log").exists() and place.gone() == {}


def test_one_that_is_being_built_stays(place: Place) -> None:
    folder = place.environment("key", whole=False)
    with folder.with_suffix(".building").open("w") as lock:
        lock.write(f"{os.getpid()}")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert place.gone() == {} and place.left() == {"key"}
    assert place.gone() == {"key": "half-built"}


def test_one_that_runs_for_a_release_below_another_home_stays(place: Place) -> None:
    first, second = place.environment("first"), place.environment("second")
    (place.home.parent / "link").symlink_to(place.home)
    (first / "bin" / "python").unlink()
    (first / "bin" / "python").symlink_to(sys.executable)
    wait = "import sys; print('up', flush=True); sys.stdin.read()"
    env = {**os.environ, "STACKCTL_PYTHON": str(place.home.parent / "link/environments/second/bin/python")}
    argvs = ([str(first / "bin" / "python"), "-c", wait], [sys.executable, "-c", wait])
    runs = [
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=given)
        for argv, given in zip(argvs, (dict(os.environ), env), strict=True)
    ]
    try:
        for run in runs:
            assert run.stdout is not None and run.stdout.readline()
        assert place.gone() == {}
    finally:
        for run in runs:
            run.communicate()
    assert set(place.gone()) == {"first", "second"} and not second.exists()


def test_while_another_stack_is_held_environments_stay(place: Place) -> None:
    place.environment("key")
    (place.stacks / "other" / "hold").mkdir(parents=True)
    (place.stacks / "mine" / "hold").mkdir(parents=True)
    assert place.ask()["stay"] == ["environments stay: other is held, a deploy of it may want one"]
    assert place.left() == {"key"}
    (place.stacks / "other" / "hold").rmdir()
    assert place.gone() == {"key": "no release runs by it"}


def test_downloads_that_are_named_or_were_left_half_way_go(place: Place) -> None:
    wheels = place.home / "wheels"
    wheels.mkdir()
    for name in ("a.whl", "b.whl", ".c.whl.old", ".d.whl.new"):
        (wheels / name).write_bytes(b"x" * 5000)
    left = place.home.parent / "stackctl-pip-x1"
    left.mkdir()
    for path in (wheels / ".c.whl.old", left):
        os.utime(path, (LONG_AGO, LONG_AGO))
    assert {item["name"] for item in place.ask(wheels=["a.whl"])["downloads"]} == {
        "a.whl",
        ".c.whl.old",
        "stackctl-pip-x1",
    }
    assert sorted(path.name for path in wheels.iterdir()) == [".d.whl.new", "b.whl"] and not left.exists()


def test_a_file_with_another_name_elsewhere_gives_no_room_back(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "own").write_bytes(b"x" * 8192)
    whole = disk.freed(folder)
    os.link(folder / "own", folder / "twice")
    assert disk.freed(folder) == whole
    os.link(folder / "own", tmp_path / "elsewhere")
    assert disk.freed(folder) == 0
