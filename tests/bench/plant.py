"""Copies of the demo's workspace whose fault is somewhere else, and known: `plant.py TARGET --seed N` prints the truth.

The stand-in is good and so are all patches of the demo but one. A plant repairs that one and breaks another (or
none), writes all of them as git makes them, and shuffles the queue as far as its patches allow. The headers stay: a
bisect must not find the culprit by reading. It proves nothing about a plant; tests/standin/test_plant.py runs each.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

WORKSPACE = Path(__file__).resolve().parents[2]
FLAG = "flag:enable-hierarchical-cache"
AFTER = {"demo/metrics-second-tier": "demo/metrics-pool-gauges"}  # the one patch that does not apply without another
DIFF = ("diff", "--full-index", "--no-renames", "-U3", "--diff-algorithm=myers", "--no-color", "--no-ext-diff")

Edit = tuple[str, str, str]  # file in the package, what is there once, what comes in its place


@dataclass(frozen=True)
class Fault:
    """How a good patch becomes a bad one."""

    patch: str
    needs_flag: bool
    edits: tuple[Edit, ...]

    @property
    def elements(self) -> frozenset[str]:
        return frozenset({f"patch:{self.patch}"} | ({FLAG} if self.needs_flag else set()))


_MARKS_GOOD, _MARKS_BAD = "return copied >= (layer + 1) * pages\n", "return copied > layer * pages\n"
_GATE = "                await self.store.wait_layer(room, layer)\n                layers.append("
_EXPECT = "        self._index.expect(room.id, room.need)\n"
_NEXT = "                load = self._loads.popleft()\n"
_RUNS, _RAN = "                self.running += 1\n", "                    self.running -= 1\n"
_POOL = """self._buffers: dict[int, bytearray] = {}
        self._last, *self._free = [bytearray(LONGEST_STEP * LAYERS) for _ in range(5)]
        """
_TAKE = "                self._buffers[room] = self._free.pop() if self._free else self._last\n"
_GIVE = """                    buffer = self._buffers.pop(room)
                    if buffer is not self._last:
                        self._free.append(buffer)
"""
_COUNTS = "self.requests = self.running = self.said = 0"

FAULTS: Mapping[str, Fault] = {
    # the gate opens at the first page of a layer
    "marks": Fault("demo/index-store-marks", True, (("index.py", _MARKS_GOOD, _MARKS_BAD),)),
    # the sender does not ask the gate
    "one-write": Fault("demo/transfer-one-write", True, (("prefill.py", _GATE, "                layers.append("),)),
    # the gate hears of a load when its first copy is due
    "load-queue": Fault(
        "demo/store-load-queue",
        True,
        (
            ("store.py", _EXPECT, ""),
            ("store.py", _NEXT, f"{_NEXT}                self._index.expect(load.room.id, load.room.need)\n"),
        ),
    ),
    # a buffer each for four requests, one for all others: no flag is needed
    "step-buffer": Fault(
        "demo/decode-step-buffer",
        False,
        (
            ("decode.py", "        buffer = bytearray(LONGEST_STEP * LAYERS)\n", ""),
            ("decode.py", "done, size, buffer)\n", "done, size, self._buffers[room])\n"),
            ("decode.py", _RUNS, f"{_RUNS}{_TAKE}"),
            ("decode.py", _RAN, f"{_RAN}{_GIVE}"),
            ("decode.py", _COUNTS, f"{_POOL}{_COUNTS}"),
        ),
    ),
}
KINDS = (*FAULTS, "none")
REPAIR = Fault("demo/index-store-marks", True, (("index.py", _MARKS_BAD, _MARKS_GOOD),))


@dataclass(frozen=True)
class Truth:
    """What a bisect of the planted stack must find. `elements` empty: it never fails."""

    kind: str
    elements: frozenset[str]
    queue: tuple[str, ...]

    def is_bad(self, present: Sequence[str]) -> bool:
        """Whether a variant with these elements fails under load."""
        return bool(self.elements) and self.elements <= set(present)


def kind_of(seed: int) -> str:
    """Seeds 0 to 4 give each kind once, and so on."""
    return KINDS[seed % len(KINDS)]


def plant(target: Path, seed: int, source: Path = WORKSPACE, kind: str | None = None) -> Truth:
    """Write stacks/ and patches/ of `source` to the new folder `target`. Seed 0 keeps the queue as it is."""
    kind = kind or kind_of(seed)
    for part in ("stacks", "patches"):
        ignore = shutil.ignore_patterns("__pycache__", "*.lock")
        shutil.copytree(source / part, target / part, ignore=ignore)
    if kind != "marks":
        _rewrite(target, REPAIR)
        if kind != "none":
            _rewrite(target, FAULTS[kind])
    queue = shuffled(queue_of(target), seed) if seed else queue_of(target)
    _write_queue(target, queue)
    return Truth(kind, FAULTS[kind].elements if kind != "none" else frozenset(), queue)


def queue_of(workspace: Path) -> tuple[str, ...]:
    text = (workspace / "stacks/demo.yaml").read_text(encoding="utf-8")
    return tuple(re.findall(r"^  - (demo/\S+)", text, re.MULTILINE))


def shuffled(queue: Sequence[str], seed: int) -> tuple[str, ...]:
    """An order of its own for each seed; what needs another patch comes after it."""
    order = sorted(queue, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).hexdigest())
    for name, first in AFTER.items():
        if name in order and order.index(name) < order.index(first):
            order.remove(name)
            order.insert(order.index(first) + 1, name)
    return tuple(order)


def apply(workspace: Path, names: Sequence[str], target: Path) -> Path:
    """The stand-in with these patches, in the new folder `target`; its tests need no stackctl for that."""
    shutil.copytree(workspace / "stacks/standin", target, ignore=shutil.ignore_patterns("__pycache__"))
    _git(target, "init", "-q")
    if names:
        _git(target, "apply", *(str(workspace / "patches" / f"{name}.patch") for name in names))
    return target


def _rewrite(workspace: Path, fault: Fault) -> None:
    """Make the patch anew with the edits in it; its message stays."""
    file = workspace / "patches" / f"{fault.patch}.patch"
    message = file.read_text(encoding="utf-8").partition("\n---\n")[0]
    with tempfile.TemporaryDirectory() as scratch:
        tree = apply(workspace, (), Path(scratch, "tree"))
        _git(tree, "add", "-A")
        _git(tree, "apply", str(file))
        for name, old, new in fault.edits:
            path = tree / "python/standin" / name
            text = path.read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise ValueError(f"{fault.patch}: {name} has {text.count(old)} times {old!r}; the plant is out of date")
            path.write_text(text.replace(old, new), encoding="utf-8")
        file.write_text(f"{message}\n---\n{_git(tree, *DIFF)}", encoding="utf-8")


def _write_queue(workspace: Path, queue: Sequence[str]) -> None:
    file = workspace / "stacks/demo.yaml"
    names = iter(queue)
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r"^  - demo/\S+.*$", lambda _: f"  - {next(names)}", text, flags=re.MULTILINE))


def _git(folder: Path, *words: str) -> str:
    sealed = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    done = subprocess.run(["git", *words], cwd=folder, env=sealed, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, help="a folder that is not there yet")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--kind", choices=KINDS)
    words = parser.parse_args()
    truth = plant(words.target, words.seed, kind=words.kind)
    print(json.dumps(asdict(truth) | {"elements": sorted(truth.elements)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
