"""Each planted fault on the real engine: its verdict at sixty requests and at one, by stackctl itself.

Prints a table (finding classes, requests until the verdict, seconds of the start) and exits 1 when a row is not as it
must be. It works in a copy of stacks/ and patches/ with ports and a home of its own, uses the environment of
stacks/cpu.yaml in $STACKCTL_HOME (the first deploy makes it), and leaves no process. About four minutes a row.

    python tests/bench/cpu_table.py [--only NAME,NAME] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from bisect_planted import free_ports

ROOT = Path(__file__).resolve().parents[2]
STACKCTL = str(Path(sys.executable).with_name("stackctl"))
PORT = re.compile(r"\b311\d\d\b")
PAIR_PATCH, PAIR_FLAG = "patch:cpu/hicache-load-per-round", "flag:enable-hierarchical-cache"
SIXTY, ONE, TEXT = "c60-toolcalls", "c1-toolcalls", "text-and-call"


@dataclass(frozen=True)
class Row:
    """A variant, and what its tests must say. `bad`: at sixty requests; at one every variant is clean."""

    name: str
    stack: str
    variant: tuple[str, ...]
    bad: bool
    tests: tuple[str, ...] = (ONE, SIXTY)


def rows() -> list[Row]:
    lines = (ROOT / "stacks/cpu/known-bad.txt").read_text(encoding="utf-8").splitlines()
    single = [line.split()[0] for line in lines if line and not line.startswith("#")]
    single = [name for name in single if f"patch:{name}" != PAIR_PATCH]
    return [
        Row("good-queue", "cpu", (), bad=False, tests=(ONE, SIXTY, TEXT)),
        *(Row(name, "cpu", ("--with", f"patches/{name}.patch"), bad=True) for name in single),
        Row("pair", "cpu-pair", (), bad=True),
        Row("pair-without-flag", "cpu-pair", ("--without", PAIR_FLAG), bad=False),
        Row("pair-without-patch", "cpu-pair", ("--without", PAIR_PATCH), bad=False),
        Row("no-patch", "cpu", ("--without", "patch:parser/dsv4-keep-text"), bad=True, tests=(TEXT,)),
    ]


class Workspace:
    """Copies of the stacks with other ports, and stackctl in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        base = free_ports()
        for name in ("stacks", "patches"):
            shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
        stacks = {stack: stack.read_text(encoding="utf-8") for stack in folder.glob("stacks/cpu*.yaml")}
        ports = sorted({port for text in stacks.values() for port in PORT.findall(text)})
        for stack, text in stacks.items():
            moved = PORT.sub(lambda match: str(base + ports.index(match[0])), text)
            stack.write_text(moved, encoding="utf-8")
        (folder / "home").mkdir()
        store = os.environ.get("STACKCTL_HOME", str(Path.home() / ".local/share/stackctl"))
        self.env = {**os.environ, "HOME": str(folder / "home"), "STACKCTL_HOME": store, "NO_COLOR": "1"}

    def run(self, *words: str) -> tuple[int, str]:
        with (self.folder / "stderr.log").open("a") as log:
            done = subprocess.run([STACKCTL, *words], cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=log)
        return done.returncode, done.stdout.decode()

    def stop(self, *stacks: str) -> None:
        for stack in stacks:
            self.run("stop", stack, "--quiet", "--no-evidence")

    def report(self, test: str, row: Row) -> dict[str, Any]:
        _, out = self.run("test", test, row.stack, *row.variant, "--json")
        try:
            found: dict[str, Any] = json.loads(out)
        except ValueError:
            return {"verdict": "no report", "requests": 0, "failed": 0, "classes": {}, "reason": out[-200:]}
        return found


def measure(workspace: Workspace, row: Row) -> bool:
    workspace.stop(*({"cpu", "cpu-pair"} - {row.stack}))  # they share their ports
    began = time.monotonic()
    code, _ = workspace.run("deploy", row.stack, *row.variant, "--yes")
    started = time.monotonic() - began
    if code:
        print(f"{row.name:32}  was not deployed: exit {code}, see {workspace.folder}/stderr.log", flush=True)
        return False
    right = True
    for test in row.tests:
        found = workspace.report(test, row)
        verdict = str(found["verdict"])
        right &= verdict == wanted(row, test) or (test == TEXT and row.bad and verdict == "inconclusive")
        classes = ", ".join(f"{name} {count}" for name, count in sorted(found["classes"].items())) or "-"
        print(f"{row.name:32}  {test:14} {verdict:13} {found['failed']:4} of {found['requests']:4}  ", end="")
        print(f"{classes:52}  start {started:5.1f} s", flush=True)
    return right


def wanted(row: Row, test: str) -> str:
    """text-and-call on the base may be inconclusive too: its control fails at one request now and then."""
    return "bad" if row.bad and test != ONE else "clean"


def chosen(names: str | None) -> Sequence[Row]:
    every = rows()
    return every if names is None else [row for row in every if row.name.rpartition("/")[2] in names.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="names of rows, without cpu/")
    parser.add_argument("--keep", type=Path, help="work in this new folder, and leave it")
    words = parser.parse_args()
    folder = words.keep or Path(tempfile.mkdtemp(prefix="cpu-table-"))
    workspace = Workspace(folder)
    try:
        right = [measure(workspace, row) for row in chosen(words.only)]
    finally:
        workspace.stop("cpu", "cpu-pair")
        if not words.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{sum(right)} of {len(right)} as they must be")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
