"""A wedge for real: one of two ranks is stopped in the middle of a burst. The test names it, a restart mends it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.real.conftest import ROOT, Cli, processes

pytestmark = [pytest.mark.real, pytest.mark.timeout(2400), pytest.mark.parametrize("stack", ["cpu-tp2"], indirect=True)]
TEST = "c60-toolcalls"
ENGINE = "http://127.0.0.1:31200"
RANK = b"scheduler_TP1"
RUNNING = re.compile(r"^sglang:num_running_reqs\{[^}]*\} (\S+)", re.MULTILINE)
LIMIT = 20.0  # seconds that evidence may take


def test_a_stopped_rank_is_a_wedge_and_a_restart_mends_it(cli: Cli, stack: str) -> None:
    cli.ok("deploy", stack)
    report, rank = wedged(stack)
    assert (report["verdict"], report["signature"], report["wedge"]) == ("bad", "wedge", True), report
    (said,) = [one["detail"] for one in report["findings"] if one["cls"] == "wedge"]
    print(said)
    kept = json.loads(Path(report["evidence"], "report.json").read_text())
    assert said in [one["detail"] for one in kept["findings"]]
    for address in ("/health_generate", "/v1/models said 200", "31210/health said 200", "a fresh request: no answer"):
        assert address in said

    began = time.monotonic()
    restarted = json.loads(cli.ok("restart", stack, "--json", "--yes"))
    print(f"restart with evidence, start and gate: {time.monotonic() - began:.0f} s")
    looked_at(Path(restarted["evidence"]), rank)
    assert rank not in processes(stack)
    assert restarted["release"] == report["release"]  # gated: tool calls through the router were right


def wedged(stack: str) -> tuple[dict[str, object], int]:
    """The test's report when rank 1 is stopped while most of a burst runs; and the pid of that rank."""
    argv = [sys.executable, "-m", "stackctl", "test", TEST, stack, "--json"]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as test:
        assert test.stderr is not None
        for line in test.stderr:
            if "✓ control before" in line:
                break
        while running() < 30:
            assert test.poll() is None, "the test ended before its burst was at work"
        rank = next(pid for pid in processes(stack) if RANK in Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(rank, signal.SIGSTOP)
        said, _ = test.communicate()
    assert test.returncode == 1, said
    return json.loads(said), rank


def running() -> float:
    """Requests that the engine works on now."""
    with urllib.request.urlopen(f"{ENGINE}/metrics", timeout=10) as answer:
        return max(map(float, RUNNING.findall(answer.read().decode())), default=0.0)


def looked_at(folder: Path, rank: int) -> None:
    """What is in the evidence: the stopped rank, both schedulers' stacks twice, and what every address said."""
    summary = (folder / "summary.txt").read_text()
    print(summary)
    took = float(summary.splitlines()[1].rpartition("taken down in ")[2].removesuffix(" s"))
    assert took < LIMIT
    assert "single-0 /health_generate: no answer in 5.0 s" in summary
    assert f"{ENGINE}/v1/models  200" in summary
    assert re.search(rf"^  {rank} .* T .*scheduler_TP1$", summary, re.MULTILINE)
    for turn in ("1", "2"):
        stacks = {path.name.partition("-")[2]: path.read_text() for path in (folder / "stacks" / turn).iterdir()}
        waiting = stacks["sglang--scheduler_TP0.txt"]
        assert "all_reduce" in waiting or "broadcast" in waiting, waiting
        assert "event_loop" in stacks["sglang--scheduler_TP1.txt"]
    assert "sglang:num_running_reqs" in (folder / "metrics" / "single-0.txt").read_text()
    assert (folder / "logs" / "single-0.log").stat().st_size > 0
