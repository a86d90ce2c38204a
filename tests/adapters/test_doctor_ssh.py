"""`stackctl doctor` over three hosts, each behind a real sshd of its own user: readable, and nothing is written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.sshhost import BareHost, bare_hosts
from tests.tracing import ELSEWHERE, STRACE, can_trace, changes

pytestmark = pytest.mark.ssh
STACK = """\
stack: three
base: {{path: engine}}
model: {{path: /usr/share, name: m}}
serve: {{module: engine.serve}}
roles:
  prefill: {{host: gpu1, port: 27601, bootstrap_port: 27603}}
  decode: {{host: gpu2, port: 27602}}
  router: {{host: gpu3, port: 27600, package: sglang-router==0.3.2}}
hosts: {{gpu1: {}, gpu2: {}, gpu3: {}}}
"""
SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/run")


@pytest.fixture(scope="module")
def hosts() -> Iterator[tuple[BareHost, ...]]:
    with bare_hosts("gpu1", "gpu2", "gpu3") as found:
        yield found


@pytest.fixture
def stack(hosts: tuple[BareHost, ...], tmp_path: Path) -> Path:
    folder = tmp_path / "ws" / "stacks"
    (folder / "engine" / "python" / "engine").mkdir(parents=True)
    (folder / "three.yaml").write_text(STACK.format(*(host.yaml for host in hosts)))
    return folder / "three.yaml"


def doctor(stack: Path, *words: str) -> tuple[int, str]:
    env = {**os.environ, "STACKCTL_HOME": str(stack.parents[2] / "store")}
    argv = [sys.executable, "-m", "stackctl", "doctor", str(stack), *words]
    done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=120, check=False)
    return done.returncode, done.stdout


def report(stack: Path, *words: str) -> dict[str, dict[str, Any]]:
    """By host."""
    return {host["name"]: host for host in json.loads(doctor(stack, "--json", *words)[1])["hosts"]}


def snapshot(hosts: Sequence[BareHost]) -> dict[str, tuple[int, ...]]:
    """All of their homes, and what is theirs in the places that anybody may write to: what, how big, changed when."""
    owners = {host.home.stat().st_uid for host in hosts}
    homes = [path for host in hosts for path in (host.home, *host.home.rglob("*"))]
    found = {str(path): _state(path) for path in homes}
    shared = [path for place in SHARED for path in _theirs(Path(place), owners)]
    return found | {str(path): _state(path) for path in shared}


def _theirs(folder: Path, owners: set[int]) -> Iterator[Path]:
    """In a folder that anybody may write to: what is theirs. Folders of others are closed to them."""
    with os.scandir(folder) as entries:
        mine = [entry for entry in entries if entry.stat(follow_symlinks=False).st_uid in owners]
    for entry in mine:
        yield Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _theirs(Path(entry.path), owners)


def _state(path: Path) -> tuple[int, ...]:
    about = path.lstat()
    # not the time of access: reading is what a look does
    return (about.st_mode, about.st_size, about.st_ino, about.st_mtime_ns, about.st_ctime_ns)


@contextmanager
def traced(hosts: Sequence[BareHost], folder: Path) -> Iterator[list[Path]]:
    """Every call of what their sshd starts; the traces are whole after the block."""
    traces = [folder / f"{host.name}.trace" for host in hosts]
    running = []
    try:
        for host, trace in zip(hosts, traces, strict=True):
            argv = [*STRACE, "-o", str(trace), "-p", str(host.pid)]
            running.append(subprocess.Popen(argv, stderr=subprocess.PIPE, text=True))
            said = running[-1].stderr
            assert said is not None and "attached" in said.readline()
        yield traces
    finally:
        for strace in running:
            strace.send_signal(signal.SIGINT)
            strace.communicate(timeout=30)


def test_each_of_three_hosts_is_told(stack: Path, hosts: tuple[BareHost, ...]) -> None:
    found = report(stack)
    assert list(found) == ["gpu1", "gpu2", "gpu3"]
    for host in hosts:
        one = found[host.name]
        assert one["facts"]["user"] == host.user and one["facts"]["kernel"] and one["commands"]
        assert "RUNS-NOTHING" in {finding["id"] for finding in one["findings"]}
    assert [one["roles"] for one in found.values()] == [["prefill-0"], ["decode-0"], ["router-0"]]
    code, text = doctor(stack)
    assert code == 1 and "PACKAGE-MISSING: /usr/bin/python3 has no sglang-router" in text  # on gpu3 only
    heads = [line for line in text.splitlines() if line.startswith("gpu")]
    assert [head.split(" ")[0] for head in heads] == ["gpu1", "gpu2", "gpu3"]
    assert list(report(stack, "-H", "gpu3,gpu1")) == ["gpu1", "gpu3"]


def test_nothing_is_written_on_any(stack: Path, hosts: tuple[BareHost, ...]) -> None:
    doctor(stack)
    before = snapshot(hosts)
    assert doctor(stack)[0] == 1 and doctor(stack, "--since", "last-clean")[0] == 1
    assert snapshot(hosts) == before
    assert str(hosts[0].home / ".stackctl") not in before


def test_no_call_wants_to_write_on_any(stack: Path, hosts: tuple[BareHost, ...], tmp_path: Path) -> None:
    if not can_trace():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("strace is not here, or may not trace")
    with traced(hosts, tmp_path) as traces:
        doctor(stack)
        doctor(stack, "--since", "last-clean")
    for host, trace in zip(hosts, traces, strict=True):
        text = trace.read_text(errors="replace")
        assert "/usr/bin/python3" in text and "/proc/meminfo" in text  # it saw the look
        assert not {path for path in changes(trace, host.home) if not path.startswith(ELSEWHERE)}


def test_one_that_is_silent_hides_no_other(stack: Path, hosts: tuple[BareHost, ...]) -> None:
    os.kill(hosts[1].pid, signal.SIGTERM)
    try:
        found = report(stack)
        (silent,) = found["gpu2"]["findings"]
        assert (silent["id"], silent["severity"], silent["host"]) == ("HOST-SILENT", "error", "gpu2")
        assert f"{hosts[1].user}@127.0.0.1:{hosts[1].port}" in silent["message"] and found["gpu2"]["facts"] is None
        assert found["gpu1"]["facts"] and found["gpu3"]["facts"]
        code, text = doctor(stack, "--since", "last-clean")
        assert code == 1 and text.count("no clean test was saved there") == 2 and "gpu2: not compared" in text
    finally:
        hosts[1].switch("up")
