"""What a deploy and a clean test save of their host, for real, and what `doctor` says of it afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackctl.commands.deploying.deploy import DeployRequest, deploy
from stackctl.commands.deploying.restart import restart
from stackctl.commands.deploying.rollback import RollbackRequest, rollback
from stackctl.commands.hosts.doctor import DoctorRequest, doctor
from stackctl.commands.hosts.since import HostDrift, SinceRequest, compare
from stackctl.commands.testing.test import TestRequest, run_test
from stackctl.core.doctor.saved import Saved, parse
from stackctl.core.doctor.values import Finding
from stackctl.core.stack.resolved import HostSpec
from stackctl.errors import UsageError
from stackctl.ports import Completed, Host, Hosts
from tests.commands.deployed import World, wait_for

pytestmark = pytest.mark.slow
TESTS = "tests: {good: {kind: command, run: 'true'}, bad: {kind: command, run: 'false'}}"


def lines(world: World) -> list[dict[str, Any]]:
    path = world.root / "facts.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def saved(world: World) -> tuple[Saved, ...]:
    return parse((world.root / "facts.jsonl").read_text())


def since(world: World, word: str, *, exit_code: bool = False) -> tuple[HostDrift, int]:
    report = compare(world.ports, SinceRequest(world.plain, word, exit_code=exit_code))
    return report.hosts[0], report.exit


def found(world: World) -> dict[str, Finding]:
    """Of the sections that say what runs and what changed."""
    every = doctor(world.ports, DoctorRequest(world.plain)).findings
    return {one.id: one for one in every if one.section in ("running", "drift")}


def change(world: World, **facts: object) -> None:
    """As if the host had been otherwise when it was saved."""
    rows = [{**row, "facts": {**row["facts"], **facts}} if "facts" in row else row for row in lines(world)]
    (world.root / "facts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_every_good_moment_is_saved_and_a_bad_one_is_not(world: World) -> None:
    first = world.deploy_as(more=TESTS)
    assert world.deploy().outcome == "kept"
    for name, verdict in (("bad", "bad"), ("good", "clean")):
        assert run_test(world.ports, TestRequest(name, world.plain)).verdict == verdict
    restart(world.ports, world.plain)
    second = world.deploy_as(more=TESTS, flags="page-size: 7")
    rollback(world.ports, RollbackRequest(world.plain))
    moments = [(one.moment.event, one.moment.release, one.moment.test) for one in saved(world)]
    assert moments == [
        ("deploy", first.release, ""),
        ("deploy", first.release, ""),
        ("test", first.release, "good"),
        ("restart", first.release, ""),
        ("deploy", second.release, ""),
        ("rollback", first.release, ""),
    ]
    assert ["facts" in line for line in lines(world)] == [True, False, False, False, False, False]
    facts = saved(world)[-1].facts
    assert facts.kernel == os.uname().release and facts.python.path == sys.executable
    world.stop()
    assert len(lines(world)) == 6  # nothing is saved of a stop, and nothing lost


def test_what_changed_since(world: World) -> None:
    release = world.deploy().release
    assert since(world, release[:6]) == (HostDrift("here", saved(world)[-1].moment), 0)
    assert since(world, release, exit_code=True)[1] == 0
    assert set(found(world)) == {"RUNS-RELEASE"}
    change(world, kernel="5.4.0-older", limits={"memlock": {"soft": None, "hard": None}})
    (drift, code), (_, asked) = since(world, release), since(world, release, exit_code=True)
    assert (code, asked) == (0, 7)
    told = [(one.what, one.then) for one in drift.changes]
    assert ("kernel", "5.4.0-older") in told and ("memlock", "unlimited") in told
    drifted = found(world)["DRIFT"]
    assert drifted.severity == "warning" and f"deploy of {release}" in drifted.message and drifted.host == "here"


def test_nothing_was_saved_then(world: World) -> None:
    world.deploy()
    for word in ("ffff", "last-clean"):
        drift, code = since(world, word)
        assert code == 1 and drift.moment is None and drift.problem and "Saved there are" in drift.hint
    for wrong in ("abc", "HEAD", "", "0123456789abcd"):
        with pytest.raises(UsageError, match="no release"):
            since(world, wrong)
    with pytest.raises(UsageError, match="has no host gpu9"):
        compare(world.ports, SinceRequest(world.plain, "abcd", ("gpu9",)))
    (world.root / "facts.jsonl").unlink()
    assert "each deploy and each clean test" in since(world, "abcd")[0].hint


def test_facts_that_cannot_be_saved_fail_nothing(world: World) -> None:
    (world.root / "facts.jsonl").mkdir(parents=True)
    assert world.deploy_as(more=TESTS).outcome == "deployed"
    assert any("here: what the host is like was not saved: Is a directory" in line for line in world.told.lines)
    assert run_test(world.ports, TestRequest("good", world.plain)).verdict == "clean"
    assert set(found(world)) == {"RUNS-RELEASE"}
    drift, code = since(world, "last-clean")
    assert code == 1 and "cannot read" in drift.problem


class Impatient:
    """A host whose user presses Ctrl-C while a program looks at it."""

    def __init__(self, hosts: Hosts, program: str) -> None:
        self._hosts, self._program = hosts, program

    def open(self, spec: HostSpec) -> Host:
        return ImpatientHost(self._hosts.open(spec), self._program)


class ImpatientHost:
    def __init__(self, host: Host, program: str) -> None:
        self._host, self._program = host, program
        self.spec, self.put, self.get = host.spec, host.put, host.get
        self.start_detached, self.close = host.start_detached, host.close

    def run(self, argv: Sequence[str], *, input: bytes = b"", timeout: float = 60.0) -> Completed:
        if any(self._program in word for word in argv):
            raise KeyboardInterrupt
        return self._host.run(argv, input=input, timeout=timeout)


def test_ctrl_c_while_facts_are_saved_ends_the_saving_only(world: World) -> None:
    """The release serves, and the verdict stands: neither is an interrupted one."""
    world.write(more=TESTS)
    ports = replace(world.ports, hosts=Impatient(world.ports.hosts, '"quick": true'))
    assert deploy(ports, DeployRequest(world.plain)).outcome == "deployed" and lines(world) == []
    assert run_test(ports, TestRequest("good", world.plain)).verdict == "clean" and lines(world) == []
    told = [line for line in world.told.lines if "was not saved: interrupted; what went before is done" in line]
    assert len(told) == 2


def test_another_release_than_the_stack_file_says(world: World) -> None:
    world.deploy()
    world.write(flags="page-size: 7")
    other = found(world)["RUNS-OTHER-RELEASE"]
    assert other.severity == "warning"
    assert other.evidence[0].output == "single-0: --page-size 7 of the stack is missing"
    (world.folder / "stacks" / "tiny.yaml").write_text(
        (world.folder / "stacks" / "tiny.yaml").read_text().replace("base: {path: engine}", "base: {path: nowhere}")
    )
    assert "cannot be made" in found(world)["RUNS-RELEASE"].message


def test_a_process_that_is_not_what_its_release_says(world: World) -> None:
    release = world.deploy_as(flags="page-size: 7").release
    file = world.root / "releases" / release / "record.json"
    record = json.loads(file.read_text())
    argv = record["launches"][0]["argv"]
    argv[argv.index("7")] = "64"
    file.write_text(json.dumps(record))
    said = found(world)
    assert said["RUNS-OTHER-ARGUMENTS"].evidence[0].output == "--page-size is 7, its release says 64"
    assert said["RUNS-OTHER-VALUES"].evidence[0].output == "page_size is '7', rendered was '64'"


def test_a_dead_engine_and_one_that_hangs(world: World) -> None:
    release = world.deploy().release
    (pid,) = [int(word) for word in (world.root / f"releases/{release}/run/single-0.pid").read_text().split()[:1]]
    group = [each for each in world.processes() if os.getpgid(each) == pid]
    for each in group:
        os.kill(each, signal.SIGSTOP)
    assert "does not answer" in found(world)["RUNS-SILENT"].message
    for each in group:
        os.kill(each, signal.SIGCONT)
    os.killpg(pid, signal.SIGKILL)
    wait_for(lambda: not world.processes())
    gone = found(world)
    assert gone["RUNS-GONE"].severity == "error" and "single-0" in gone["RUNS-GONE"].message
    world.stop()
    assert set(found(world)) == {"RUNS-NOTHING"}


def test_an_engine_that_somebody_started_by_hand(world: World, tmp_path: Path) -> None:
    module = tmp_path / "by-hand" / "sglang" / "launch_server.py"
    module.parent.mkdir(parents=True)
    module.write_text(
        "import socket, sys\none = socket.create_server(('127.0.0.1', int(sys.argv[2])))\n"
        "print('up', flush=True)\none.accept()\n"
    )
    argv = [sys.executable, "-m", "sglang.launch_server", "--port", str(world.port), "--api-key", "very-secret"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "by-hand")}
    process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        said = found(world)
        assert set(said) == {"RUNS-NOTHING", "RUNS-BY-HAND"}
        every = doctor(world.ports, DoctorRequest(world.plain)).findings
        assert not [one for one in every if one.id == "PORT-IN-USE"]  # one thing is told once
        hand = said["RUNS-BY-HAND"]
        assert f"port {world.port} of single-0" in hand.message and f"pid {process.pid}" in hand.message
        assert "--api-key ***" in hand.evidence[0].output and "very-secret" not in repr(hand)
        assert "sglang.launch_server runs, the stack says tiny.serve" in hand.evidence[1].output
    finally:
        process.kill()
        process.communicate()


def test_a_look_writes_nothing_there(world: World) -> None:
    world.deploy()

    def state() -> dict[str, tuple[int, ...]]:
        every = [world.home, *world.home.rglob("*")]
        return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_ctime_ns, path.lstat().st_size) for path in every}

    before = state()
    found(world)
    since(world, "last-clean")
    # the engine logs every request
    assert {path for path, was in state().items() if was != before.get(path)} <= {
        str(path) for path in world.root.glob("releases/*/run/*.log")
    }


def test_the_command_line(world: World) -> None:
    release = world.deploy().release
    change(world, kernel="5.4.0-older")

    def cli(*words: str) -> tuple[int, str]:
        process = world.cli("doctor", *words)
        text, _ = process.communicate(timeout=60)
        return process.returncode, text

    code, text = cli("--since", release)
    assert code == 0 and "here: 1 change since the deploy of " + release in text and "kernel: 5.4.0-older -> " in text
    assert cli("--since", release, "--exit-code")[0] == 7
    code, text = cli("--since", "last-clean")
    assert code == 1 and "here: not compared: no clean test was saved there" in text
    assert cli("--since", release, "--report", "-")[0] == cli("--exit-code")[0] == 2
    said = json.loads(cli("--since", release, "--json", "-q")[1])
    assert said["hosts"][0]["changes"][0]["then"] == "5.4.0-older" and said["hosts"][0]["moment"]["release"] == release


def test_before_the_first_deploy_no_base_is_fetched(world: World) -> None:
    file = world.folder / "stacks" / "tiny.yaml"
    file.write_text(file.read_text().replace("base: {path: engine}", "base: {path: nowhere}"))
    assert set(found(world)) == {"RUNS-NOTHING"}
