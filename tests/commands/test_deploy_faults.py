"""What dies, races or is interrupted while something is deployed, for real: what serves then, and what goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from stackctl.commands.deploying.hold import release_hold, show_hold, take_hold
from stackctl.commands.deploying.holding import held
from stackctl.commands.deploying.status import history, status
from stackctl.commands.gather import load
from stackctl.commands.site import site_of
from stackctl.errors import Held, StackctlError
from tests.commands.deployed import World, wait_for

pytestmark = pytest.mark.slow


def during(world: World, step: str) -> None:
    wait_for(lambda: str(world.status().get("step", "")).startswith(step))


def test_a_killed_script_is_put_right(world: World) -> None:
    first = world.deploy()
    world.write(flags="behave: sick")
    client = world.cli("deploy")
    during(world, "wait until")
    os.kill(int(str(world.status()["pid"])), signal.SIGKILL)
    said, _ = client.communicate(timeout=30)
    assert client.returncode == 1 and "was killed while it did: wait until single-0" in said
    notes = status(world.ports, world.selection).notes
    assert "was killed while it did" in notes[0] and any("do not serve" in note for note in notes)
    world.write()
    assert world.deploy().outcome == "deployed"
    assert world.answers() == first.release
    world.stop()
    assert world.processes() == []


def test_a_killed_client_stops_nothing_and_the_next_one_joins(world: World) -> None:
    world.deploy()
    world.write(flags="behave: slow")
    client = world.cli("deploy")
    during(world, "wait until")
    client.kill()
    client.communicate()
    joined = world.deploy()
    assert (joined.outcome, world.answers()) == ("deployed", joined.release)
    assert any("goes on there already" in line for line in world.told.lines)
    assert world.is_free()


def test_a_killed_client_keeps_others_out_until_its_cutover_ended(world: World) -> None:
    first = world.deploy()
    world.write(flags="behave: sick", start="2s")
    client = world.cli("deploy")
    during(world, "wait until")
    client.kill()
    client.communicate()
    world.write(flags="page-size: 7")
    with pytest.raises(Held, match="goes on there without its client: wait until single-0"):
        world.deploy()
    assert "goes on: wait until" in status(world.ports, world.selection).notes[0]
    assert world.deploy(wait=30.0).previous == first.release


def test_a_client_killed_in_prepare_leaves_a_stale_hold_that_is_taken_over(world: World) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    with site_of(world.ports, load(world.ports, world.selection)) as site, held(site, "stackctl deploy"):
        details = world.root / "hold" / "details.json"
        details.write_text(json.dumps({**json.loads(details.read_text()), "pid": dead.pid}))
        assert show_hold(world.ports, world.selection).stale
        assert world.deploy().outcome == "deployed"
    assert any("taking over a stale hold of" in line for line in world.told.lines)
    assert world.is_free()


def test_two_at_once_and_waiting(world: World) -> None:
    with site_of(world.ports, load(world.ports, world.selection)) as site, held(site, "stackctl bisect"):
        with pytest.raises(Held, match=rf"held on here by .* \(pid {os.getpid()}, stackctl bisect, attempt") as refused:
            world.deploy()
        assert refused.value.exit_code == 4
        second = world.cli("deploy", "--wait", "30")
        wait_for(lambda: second.poll() is not None or _says(second, "waiting for the hold"))
    said, _ = second.communicate(timeout=60)
    assert second.returncode == 0, said


def _says(process: subprocess.Popen[str], what: str) -> bool:
    assert process.stdout is not None
    return what in process.stdout.readline()


def test_a_hold_by_hand_is_never_waited_for(world: World) -> None:
    take_hold(world.ports, world.selection, "looking at a card")
    began = time.monotonic()
    with pytest.raises(Held, match="looking at a card"):
        world.deploy(wait=60.0)
    assert time.monotonic() - began < 30
    release_hold(world.ports, world.selection)
    assert show_hold(world.ports, world.selection).holder is None


def test_interrupted_before_the_cutover_leaves_nothing_locked(world: World) -> None:
    first = world.deploy()
    world.write(flags="page-size: 7")
    client = world.cli("deploy")
    wait_for(lambda: (world.root / "hold").exists())
    client.send_signal(signal.SIGINT)
    said, _ = client.communicate(timeout=30)
    assert client.returncode == 130 and "before anything was stopped" in said
    assert world.is_free() and world.answers() == first.release


def test_interrupted_after_it_began_the_host_goes_on(world: World) -> None:
    world.write(flags="behave: slow")
    client = world.cli("deploy")
    during(world, "wait until")
    client.send_signal(signal.SIGINT)
    said, _ = client.communicate(timeout=30)
    assert client.returncode == 130
    assert "goes on on here without this client" in said and "stackctl status tiny" in said
    wait_for(lambda: world.status()["state"] == "committed")
    assert world.is_free() and world.answers() is not None
    assert [past.outcome for past in history(world.ports, world.selection)] == ["committed"]


def test_a_foreign_hold_is_not_freed_by_hand(world: World) -> None:
    with site_of(world.ports, load(world.ports, world.selection)) as site, held(site, "stackctl deploy") as hold:
        with pytest.raises(Exception, match="was not taken by hand"):
            release_hold(world.ports, world.selection)
        with pytest.raises(Exception, match="is not of attempt"):
            release_hold(world.ports, world.selection, "another")
        release_hold(world.ports, world.selection, hold.attempt)
    assert world.is_free()


def test_what_cannot_be_written_down_is_not_begun(world: World) -> None:
    first = world.deploy()
    (world.root / "journal.jsonl").unlink()
    (world.root / "journal.jsonl").mkdir()
    world.write(flags="page-size: 7")
    with pytest.raises(StackctlError, match="nothing was stopped: the journal cannot be written"):
        world.deploy()
    assert world.answers() == first.release and world.is_free()
    (world.root / "journal.jsonl").rmdir()
    assert world.deploy().previous == first.release
