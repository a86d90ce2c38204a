"""Which processes are ours, with real ones: by mark, by session, by descent; and that others are let alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackctl.onhost import procs

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]
# forks a child into a session of its own, without the mark, and says its pid
FORK = """
import os, sys, time
child = os.fork()
if child == 0:
    os.setsid()
    os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)"], {})
print(child, flush=True)
time.sleep(60)
"""


@pytest.fixture
def running() -> Iterator[list[subprocess.Popen[bytes]]]:
    made: list[subprocess.Popen[bytes]] = []
    yield made
    for process in made:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def start(argv: list[str], env: dict[str, str], made: list[subprocess.Popen[bytes]]) -> tuple[int, bytes]:
    process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, start_new_session=True)
    made.append(process)
    assert process.stdout is not None
    return process.pid, process.stdout.readline()


def record(root: Path, pid: int, *, start_at: int | None = None, boot: str | None = None) -> None:
    found = procs.stat(pid)
    assert found is not None
    run = root / "releases" / "r1" / "run"
    run.mkdir(parents=True, exist_ok=True)
    (run / "single-0.pid").write_text(f"{pid} {start_at or found.start} {boot or procs.boot_id()}\n")


def test_by_its_mark(tmp_path: Path, running: list[subprocess.Popen[bytes]]) -> None:
    root = str(tmp_path)
    mine, _ = start(SLEEP, {"STACKCTL_INSTANCE": f"{root}/releases/r1/single-0"}, running)
    start(SLEEP, {"STACKCTL_INSTANCE": f"{root}2/releases/r1/single-0"}, running)
    start(SLEEP, {"OTHER": f"STACKCTL_INSTANCE={root}/releases/r1/single-0"}, running)
    assert list(procs.ours(root)) == [mine]


def test_by_its_session_and_by_descent(tmp_path: Path, running: list[subprocess.Popen[bytes]]) -> None:
    leader, said = start([sys.executable, "-c", FORK], {}, running)
    assert procs.ours(str(tmp_path)) == {}
    record(tmp_path, leader)
    assert set(procs.ours(str(tmp_path))) == {leader, int(said)}
    os.kill(int(said), signal.SIGKILL)


def test_a_number_that_was_given_out_again_is_no_match(tmp_path: Path, running: list[subprocess.Popen[bytes]]) -> None:
    pid, _ = start(SLEEP, {}, running)
    found = procs.stat(pid)
    assert found is not None
    record(tmp_path, pid, start_at=found.start - 1)
    assert procs.ours(str(tmp_path)) == {} and not procs.recorded(str(tmp_path))[0].alive
    record(tmp_path, pid, boot="another boot")
    assert procs.ours(str(tmp_path)) == {} and procs.recorded(str(tmp_path))[0].pid == 0


def test_stop_ends_ours_and_nobody_else(tmp_path: Path, running: list[subprocess.Popen[bytes]]) -> None:
    root = str(tmp_path)
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    mark = {"STACKCTL_INSTANCE": f"{root}/releases/r1/x"}
    one, _ = start([sys.executable, "-c", stubborn], mark, running)
    other, _ = start(SLEEP, {}, running)
    stopped, _ = start(SLEEP, mark, running)
    record(tmp_path, stopped)
    os.kill(stopped, signal.SIGSTOP)
    killed, left = procs.stop(root, 0.3)
    assert (killed, left) == ([one], [])
    assert procs.stat(one) is None and procs.stat(stopped) is None and procs.stat(other) is not None


def test_a_torn_pid_file_is_no_process(tmp_path: Path) -> None:
    run = tmp_path / "releases" / "r1" / "run"
    run.mkdir(parents=True)
    (run / "single-0.pid").write_text("12")
    (run / "single-0.exit").write_text("")
    assert procs.recorded(str(tmp_path)) == [procs.Recorded("r1", "single-0", 0, 0, False, None)]
