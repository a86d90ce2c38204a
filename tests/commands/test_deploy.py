"""Deploying for real on this machine, with a tiny engine: what serves, what comes back, what is left."""

from __future__ import annotations

import os
import signal
import socket
import stat
from pathlib import Path

import pytest

from stackctl.commands.deploying.status import status
from stackctl.errors import GateFailed, RollbackFailed, StackctlError
from tests.commands.deployed import World

pytestmark = pytest.mark.slow


def pids(world: World) -> set[int]:
    return {one.pid or 0 for one in status(world.ports, world.selection).instances}


def test_deploy_serves_again_only_gates_and_stop_leaves_nothing(world: World) -> None:
    result = world.deploy()
    assert (result.outcome, world.answers()) == ("deployed", result.release)
    before = pids(world)
    again = world.deploy()
    assert (again.outcome, again.release, pids(world)) == ("kept", result.release, before)
    assert world.is_free()
    world.stop()
    assert (world.processes(), world.answers()) == ([], None)
    found = status(world.ports, world.selection)
    assert found.release is None and found.previous == result.release and "stopped" in found.notes[0]


def test_a_dead_instance_of_what_serves_is_started_anew(world: World) -> None:
    world.deploy()
    for pid in world.processes():
        os.kill(pid, signal.SIGKILL)
    assert world.deploy().outcome == "deployed"


def test_another_release_replaces_and_the_old_one_is_previous(world: World) -> None:
    first = world.deploy()
    world.write(flags="page-size: 7")
    second = world.deploy()
    assert second.release != first.release and second.previous == first.release
    found = status(world.ports, world.selection, compare=True)
    assert (found.release, found.previous, found.variant) == (second.release, first.release, "")


def test_a_variant_is_told_until_the_stack_file_agrees(world: World) -> None:
    world.write(flags="page-size: 7")
    world.deploy()
    world.without("flag:page-size")
    result = world.deploy()
    assert result.variant == "without flag:page-size"
    plain = world.plain
    assert status(world.ports, plain, compare=True).variant == "without flag:page-size"
    world.write()
    assert status(world.ports, plain, compare=True).variant == ""


def test_a_failed_gate_brings_the_old_release_back(world: World) -> None:
    first = world.deploy()
    world.write(flags="behave: mute")
    with pytest.raises(GateFailed) as failed:
        world.deploy()
    assert failed.value.exit_code == 5
    assert "no token was generated" in failed.value.message and "record_nonce" in failed.value.message
    assert world.answers() == first.release and world.is_free()
    assert "was brought back" in status(world.ports, world.selection).notes[0]
    assert world.deploy_as(flags="").outcome == "kept"


def test_a_first_release_that_fails_leaves_nothing(world: World) -> None:
    world.write(flags="behave: exits")
    with pytest.raises(StackctlError) as failed:
        world.deploy()
    assert failed.value.exit_code == 1
    assert "this engine exits at once" in failed.value.message and "nothing serves" in failed.value.message
    assert world.processes() == [] and world.is_free()


def test_never_healthy_is_told_with_the_log(world: World) -> None:
    world.write(flags="behave: sick", start="1s")
    with pytest.raises(StackctlError, match=r"single-0 is not healthy after 1 s(.|\n)*tiny engine on"):
        world.deploy()
    assert world.processes() == []


def test_when_the_old_release_does_not_come_back_either(world: World) -> None:
    first = world.deploy()
    (world.root / "releases" / first.release / "serve-single-0.sh").write_text("exit 3\n")
    world.write(flags="behave: exits")
    with pytest.raises(RollbackFailed) as failed:
        world.deploy()
    assert failed.value.exit_code == 6 and "nothing serves" in failed.value.message
    assert world.processes() == [] and world.is_free()
    assert world.deploy_as(flags="").outcome == "deployed"


@pytest.mark.parametrize("behave", ["stubborn", "forks"])
def test_stop_ends_what_does_not_want_to(world: World, behave: str) -> None:
    world.write(flags=f"behave: {behave}")
    world.deploy()
    world.stop()
    assert world.processes() == [] and world.answers() is None


def test_a_port_of_somebody_else_is_refused_with_its_owner(world: World) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", world.port))
        other.listen()
        with pytest.raises(StackctlError, match=rf"port {world.port} is in use by pid {os.getpid()} \(.*\) "):
            world.deploy()
    assert world.processes() == [] and world.is_free()


def test_planned_cards_must_be_there_and_free(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write(gpus="[0, 1]")
    with pytest.raises(StackctlError, match="nvidia-smi is not there"):
        world.deploy()
    fake = tmp_path / "bin" / "nvidia-smi"
    fake.parent.mkdir()
    rows = "printf '0, GPU-a, 10, 98304\\n1, GPU-b, 700, 98304\\n'"
    fake.write_text(f'#!/bin/sh\ncase $1 in *compute-apps*) echo "GPU-b, {os.getpid()}, 700";; *) {rows};; esac\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    with pytest.raises(StackctlError, match=rf"card 1 is in use by pid {os.getpid()} \(.*\) .*, 700 MiB"):
        world.deploy()
    fake.write_text(f"#!/bin/sh\ncase $1 in *compute-apps*) ;; *) {rows};; esac\n")
    assert world.deploy().outcome == "deployed"


def test_a_plan_changes_nothing(world: World) -> None:
    result = world.deploy(dry_run=True)
    assert result.outcome == "planned"
    assert any("start single-0" in line for line in result.plan)
    assert not world.root.exists()


def test_a_secret_reaches_the_engine_and_nothing_else(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write(more="secrets: [TINY_KEY]")
    with pytest.raises(StackctlError, match="the secret TINY_KEY is missing"):
        world.deploy()
    monkeypatch.setenv("TINY_KEY", "it's $quite-private")
    world.deploy()
    file = world.root / "env"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    environ = [Path(f"/proc/{pid}/environ").read_bytes() for pid in world.processes()]
    assert any(b"TINY_KEY=it's $quite-private\0" in one for one in environ)
    others = [path for path in world.root.rglob("*") if path.is_file() and path != file]
    assert not [path for path in others if b"quite-private" in path.read_bytes()]
    monkeypatch.delenv("TINY_KEY")
    assert world.deploy().outcome == "kept"  # it is there already


def test_old_releases_go_and_those_that_count_stay(world: World) -> None:
    made = [world.deploy_as(flags=f"page-size: {size}", keep=2).release for size in (1, 2, 3)]
    assert sorted(path.name for path in (world.root / "releases").iterdir()) == sorted(made[1:])


def test_production_is_not_replaced_without_a_word(world: World) -> None:
    first = world.deploy_as(purpose="production")
    world.write(purpose="production", flags="page-size: 7")
    with pytest.raises(StackctlError, match=f"production and serves {first.release}, and there is no terminal"):
        world.deploy()
    assert world.answers() == first.release and world.is_free()
    assert world.deploy(yes=True).previous == first.release
