"""Ten real bisects whose truth is known: `stackctl bisect` on copies of the demo with the fault planted by a seed.

Prints truth, verdict, runs, seconds of each, and exits 1 when a verdict is not the truth. One uses the uniform prior,
one is killed with -9 in the middle and run again, then must make the choices that it would have made. Each copy
has a home, ports and sessions of its own, and leaves no process.

    python tests/bench/bisect_planted.py [--seeds 0,3,7] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from plant import Truth, plant

SEEDS = tuple(range(10))
UNIFORM, KILLED = 5, 6  # seeds: the pair again with the uniform prior, another pair killed after four outcomes
OUTCOMES_BEFORE_THE_KILL = 4
STACKCTL = str(Path(sys.executable).with_name("stackctl"))
TEST = "c60-toolcalls"
PORT = re.compile(r"\b3100(\d)\b")


@dataclass
class Bench:
    """One planted workspace and how stackctl is called in it."""

    folder: Path
    seed: int
    truth: Truth
    env: dict[str, str] = field(default_factory=dict)

    def call(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [STACKCTL, *words],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=(self.folder / "stderr.log").open("a"),
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str) -> tuple[int, str]:
        process = self.call(*words)
        out, _ = process.communicate(timeout=1800)
        return process.returncode, out

    def events(self) -> list[dict[str, object]]:
        files = sorted(self.folder.glob(".stackctl/bisect/*/events.jsonl"))
        lines = files[-1].read_text(encoding="utf-8").split("\n")[:-1] if files else []
        return [json.loads(line) for line in lines]

    def outcomes(self) -> int:
        return sum(event["event"] == "observed" for event in self.events())


@dataclass(frozen=True)
class Result:
    seed: int
    kind: str
    truth: frozenset[str]
    verdict: str
    culprit: frozenset[str]
    runs: int
    seconds: float
    note: str = ""

    @property
    def right(self) -> bool:
        wanted = "CONFIRMED" if self.truth else "NEVER FAILS"
        return self.verdict == wanted and self.culprit == self.truth and not self.note.startswith("WRONG")


def prepare(root: Path, seed: int) -> Bench:
    folder = root / f"seed-{seed}"
    truth = plant(folder, seed)
    base = free_ports()
    stack = folder / "stacks/demo.yaml"
    text = stack.read_text(encoding="utf-8")
    stack.write_text(PORT.sub(lambda match: str(base + int(match[1])), text), encoding="utf-8")
    home = folder / "home"
    home.mkdir()
    env = {**os.environ, "HOME": str(home), "STACKCTL_HOME": str(root / "store"), "NO_COLOR": "1"}
    env.pop("STACKCTL_STACK", None)
    return Bench(folder, seed, truth, env)


def free_ports() -> int:
    """A number below 32768, with the nine after it, on which nothing listens."""
    for base in range(21000 + os.getpid() % 400 * 20, 32000, 20):
        if all(_is_free(base + i) for i in range(10)):
            return base
    raise RuntimeError("no ten free ports in a row")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def bisect(bench: Bench) -> Result:
    words = ["bisect", "demo", "--test", TEST, "--json", "--yes"]
    words += ["--prior", "uniform"] if bench.seed == UNIFORM else []
    began, note = time.monotonic(), "uniform prior" if bench.seed == UNIFORM else ""
    try:
        if bench.seed == KILLED:
            kill_in_the_middle(bench, words)
            note = f"killed after {bench.outcomes()} runs and run again"
        code, out = bench.run(*words)
        seconds = time.monotonic() - began
        if code:
            tail = (bench.folder / "stderr.log").read_text(encoding="utf-8")[-1500:]
            return _result(bench, {"kind": f"exit {code}", "culprit": [], "runs": []}, seconds, f"WRONG: {tail}")
        report = json.loads(out)
        if bench.seed == KILLED and (odd := repeats_only_what_was_lost(bench)):
            note = f"WRONG: {odd}"
        return _result(bench, report, seconds, note)
    finally:
        bench.run("stop", "demo", "--quiet")


def _result(bench: Bench, report: dict[str, object], seconds: float, note: str) -> Result:
    culprit, runs = report["culprit"], report["runs"]
    assert isinstance(culprit, list) and isinstance(runs, list)
    truth = bench.truth
    return Result(
        bench.seed, truth.kind, truth.elements, str(report["kind"]), frozenset(culprit), len(runs), seconds, note
    )


def kill_in_the_middle(bench: Bench, words: Sequence[str]) -> None:
    """kill -9 of the client, during the run after four outcomes."""
    process = bench.call(*words)
    while process.poll() is None:
        events = bench.events()
        if bench.outcomes() >= OUTCOMES_BEFORE_THE_KILL and events[-1]["event"] == "chosen":
            time.sleep(1.0)  # into the deploy
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.05)
    process.communicate()


def repeats_only_what_was_lost(bench: Bench) -> str:
    """Empty when the session went on: no second beginning, each run chosen once and observed once."""
    events = bench.events()
    if sum(event["event"] == "started" for event in events) != 1:
        return "a second session began"
    chosen = [event["run"] for event in events if event["event"] == "chosen"]
    seen = [event["run"] for event in events if event["event"] == "observed"]
    return "" if chosen == seen == sorted(set(chosen)) else f"chosen {chosen}, observed {seen}"


def show(result: Result) -> None:
    truth = " + ".join(sorted(result.truth)) or "never fails"
    found = " + ".join(sorted(result.culprit)) or "-"
    mark = "right" if result.right else "WRONG"
    print(f"{result.seed:4}  {truth:62}  {result.verdict:12}  {found:62}", end="  ")
    print(f"{result.runs:3} runs  {result.seconds:6.1f} s  {mark}  {result.note}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)))
    parser.add_argument("--keep", type=Path, help="work in this new folder, and leave it")
    words = parser.parse_args()
    root = words.keep or Path(tempfile.mkdtemp(prefix="planted-"))
    print(f"{'seed':>4}  {'truth':62}  {'verdict':12}  found")
    try:
        results = []
        for seed in map(int, words.seeds.split(",")):
            results.append(bisect(prepare(root, seed)))
            show(results[-1])
    finally:
        if not words.keep:
            shutil.rmtree(root, ignore_errors=True)
    right = sum(result.right for result in results)
    runs = sum(result.runs for result in results) / len(results)
    print(f"{right} of {len(results)} right, {runs:.1f} runs on average")
    return 0 if right == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
