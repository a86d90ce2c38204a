"""Shared memory of a real process: removed when nobody has it any more, and not before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackctl.onhost import segments

HOLD = """
import sys
from multiprocessing import shared_memory, resource_tracker
block = shared_memory.SharedMemory(name=sys.argv[1], create=sys.argv[2] == "make", size=4096)
resource_tracker.unregister(block._name, "shared_memory")
print("up", flush=True)
sys.stdin.read()
"""
Holder = Callable[[str, str], subprocess.Popen[bytes]]


@pytest.fixture
def holder() -> Iterator[Holder]:
    made: list[subprocess.Popen[bytes]] = []

    def start(name: str, how: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, name, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        made.append(process)
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        return process

    yield start
    for process in made:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_what_a_killed_process_left_is_removed_when_nobody_else_has_it(holder: Holder, tmp_path: Path) -> None:
    name = f"stackctl-test-{tmp_path.name}-{tmp_path.stat().st_ino}"
    path = segments.FOLDER + name
    maker, other = holder(name, "make"), holder(name, "open")
    assert segments.mapped([maker.pid]) == {path}
    end(maker)
    assert segments.remove([path]) == [] and Path(path).exists()  # the other still has it
    end(other)
    assert segments.remove([path]) == [path] and not Path(path).exists()
    assert segments.remove([path]) == []


def test_a_process_that_is_gone_has_nothing() -> None:
    assert segments.mapped([2**22 + 1]) == set()
