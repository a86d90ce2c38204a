"""Evidence of a sick deployment, saved before it is stopped: what is in it, how long it takes, when there is none."""

from __future__ import annotations

import os
import shutil
import signal
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

from stackctl.commands.deploying.restart import restart
from stackctl.commands.deploying.stop import stop
from stackctl.errors import StackctlError
from tests.commands.deployed import World, wait_for

pytestmark = pytest.mark.slow

SECRET = "it's-$quite-private"
LIMIT = 20.0  # seconds that evidence may take


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def freeze_helper(world: World) -> int:
    """Stops the engine's own child: /health goes on to answer, nothing is generated any more."""
    there = world.processes()
    child = next(pid for pid in reversed(there) if parent(pid) in there and b"tiny.serve" in command(parent(pid)))
    os.kill(child, signal.SIGSTOP)
    return child


def command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def folders(world: World) -> list[Path]:
    return sorted((world.folder / ".stackctl" / "evidence").glob("*"))


def test_a_wedged_release_leaves_evidence_and_recovers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_KEY", SECRET)
    first = world.deploy_as(flags="behave: helped", more="secrets: [TINY_KEY]")
    child = freeze_helper(world)
    link = HTTPConnection("127.0.0.1", world.port, timeout=5)
    link.request("GET", f"/leaked-{SECRET}")  # the engine logs it
    link.getresponse().read()
    began = time.monotonic()
    result = restart(world.ports, world.selection)
    assert result.outcome == "restarted" and world.answers() == first.release
    assert child not in world.processes()
    (folder,) = folders(world)
    assert result.evidence == str(folder)
    assert folder.name.endswith(f"Z-restart-tiny-{first.release}")
    summary = (folder / "summary.txt").read_text()
    assert "front door /v1/chat/completions: no answer in 5.0 s" in summary
    assert "single-0 /health_generate: no answer" in summary
    assert f"http://127.0.0.1:{world.port}/health  200 in" in summary
    assert f"\n  {child} " in summary and "single-0: runs, pid" in summary
    took = float(summary.splitlines()[1].rpartition("taken down in ")[2].removesuffix(" s"))
    assert took < LIMIT and time.monotonic() - began > took
    dumps = [path.read_text() for turn in ("1", "2") for path in (folder / "stacks" / turn).glob(f"{child}-*.txt")]
    assert len(dumps) == 2 and all("tiny/serve.py" in text for text in dumps), dumps
    assert "tiny engine on" in (folder / "logs" / "single-0.log").read_text()
    everything = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    assert "quite-private" not in everything
    assert "leaked-***" in (folder / "logs" / "single-0.log").read_text()
    assert "***" in (folder / "metrics" / "single-0.txt").read_text()


def test_one_that_is_well_or_gone_on_purpose_leaves_none(world: World) -> None:
    world.deploy_as(flags="behave: helped")
    assert restart(world.ports, world.selection).evidence == ""
    assert stop(world.ports, world.selection, evidence=True).evidence == ""
    assert stop(world.ports, world.selection, evidence=True).evidence == ""
    assert folders(world) == []


def test_an_engine_that_died_or_stands_still_is_told_as_such(world: World) -> None:
    world.deploy()
    engine = max(world.processes())
    os.kill(engine, signal.SIGKILL)
    wait_for(lambda: not world.processes())
    result = stop(world.ports, world.selection, evidence=True)
    summary = Path(result.evidence, "summary.txt").read_text()
    assert "single-0 exited with 137" in summary and "single-0: exited 137" in summary

    world.deploy()
    os.kill(max(world.processes()), signal.SIGSTOP)
    result = stop(world.ports, world.selection, evidence=True)
    summary = Path(result.evidence, "summary.txt").read_text()
    assert "single-0 /health: no answer in 5.0 s" in summary and " T " in summary
    assert world.processes() == []
    assert len(folders(world)) == 2


def test_without_py_spy_it_says_so(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    world.deploy()
    record = world.root / "releases" / str(world.deploy().release) / "record.json"
    lone = tmp_path / "elsewhere" / "python"
    lone.parent.mkdir()
    record.write_text(record.read_text().replace(world.ports.who.python(), str(lone)))
    monkeypatch.setenv("PATH", os.pathsep.join(str(Path(shutil.which(name) or "/bin/sh").parent) for name in ("sh",)))
    os.kill(max(world.processes()), signal.SIGKILL)
    result = stop(world.ports, world.selection, evidence=True)
    assert "py-spy is missing there" in Path(result.evidence, "summary.txt").read_text()
    assert any("py-spy is missing there" in line for line in world.told.lines)


def test_no_evidence_and_a_folder_that_cannot_be_written_keep_nothing_from_going_on(world: World) -> None:
    first = world.deploy_as(flags="behave: helped")
    freeze_helper(world)
    (world.folder / ".stackctl").write_text("in the way")
    began = time.monotonic()
    done = world.cli("restart", "--no-evidence")
    said, _ = done.communicate(timeout=60)
    assert done.returncode == 0 and "evidence" not in said, said
    freeze_helper(world)
    result = restart(world.ports, world.selection)
    assert result.evidence == "" and world.answers() == first.release
    assert any("no evidence was saved: cannot" in line for line in world.told.lines)
    assert time.monotonic() - began < 3 * LIMIT


def test_what_does_not_come_up_again_still_has_its_evidence(world: World) -> None:
    first = world.deploy_as(flags="behave: helped")
    freeze_helper(world)
    script = world.root / "releases" / first.release / "serve-single-0.sh"
    script.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(StackctlError, match="nothing serves"):
        restart(world.ports, world.selection)
    assert len(folders(world)) == 1
    assert any(str(folders(world)[0]) in line for line in world.told.lines)
