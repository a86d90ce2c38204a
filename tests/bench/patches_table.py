"""What a queue costs: engine A and `patches graph` beside git, on made-up queues over the real sglang 0.5.15 tree.

    just bench patches [--counts 60,300] [--rounds 5] [--seed 1] [--cpu]

Everything runs in this process (git as a child, which is its way), the medians of some rounds that go in turns, so
that a busy machine is unfair to all alike. Each git starts from what is prepared for it: an index of the base for
`git apply`, a work tree of it for `git am`; engine A from the listing of the base. Patches are parsed and the base's
files read within the time. The limit is what must be done by anybody who writes the tree: sha1, zlib and the writing
of each new object, in memory where the machine has such a folder, so that no slow disk flatters an engine that writes
nothing. `--cpu` counts the processor's time, with that of children, instead of the clock's: for a machine with other
work. Prints the table and exits 1 when a promised ratio is missed.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from stackctl.app import App
from stackctl.commands.base import fetch_base
from stackctl.commands.tree import base_of
from stackctl.core.names import Digest, PatchName, TreeId
from stackctl.core.patches.depend import closure
from stackctl.core.patches.hints import hints
from stackctl.core.patches.memo import Memo, Planned
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.trees import Listing
from stackctl.core.patches.walk import Walk, walk_series
from stackctl.core.review.graph import Graph
from stackctl.core.review.graph import tree as drawn
from stackctl.core.stack.resolved import PypiBase
from stackctl.ports import Ports
from tests.bench.synthetic import Draw, synthetic

SGLANG = PypiBase("sglang==0.5.15", Digest("21492759b4b99e117bd81610f633422f3fdae2896c2cde6931eab886deccc44f"))
SUBSETS = 40
MEMORY = Path("/dev/shm")
QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C", "PATH": os.environ["PATH"]}
QUIET |= {f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@dataclass(frozen=True)
class Prepared:
    """The base as engine A finds it, and a queue upon it."""

    ports: Ports
    tree: TreeId
    listing: Listing
    queue: Mapping[str, bytes]

    def parsed(self) -> list[tuple[PatchName, ParsedPatch]]:
        found = []
        for name, data in self.queue.items():
            patch = parse(data, name)
            assert isinstance(patch, ParsedPatch), patch
            found.append((PatchName(name), patch))
        return found

    def walk(self) -> Walk:
        parsed = self.parsed()
        walk = walk_series(base_of(self.ports, self.listing, parsed), parsed)
        assert not walk.faults, walk.faults
        return walk

    def memo(self, walk: Walk) -> Memo:
        return Memo(self.tree, self.listing, walk)


class Scratch:
    """Git's side: folders that see the store's objects and keep their own apart."""

    def __init__(self, folder: Path, prepared: Prepared, store: str) -> None:
        self.folder = folder
        self.bare = folder / "bare.git"
        self.work = folder / "work"
        self.patches: list[str] = []
        self.git("init", "-q", "--bare", str(self.bare))
        self.git("init", "-q", str(self.work))
        for repository in (self.bare, self.work / ".git"):
            (repository / "objects/info").mkdir(exist_ok=True)
            (repository / "objects/info/alternates").write_text(f"{store}/objects\n")
        self.index = folder / "index"
        self.git("read-tree", prepared.tree, GIT_DIR=str(self.bare), GIT_INDEX_FILE=str(self.index))
        commit = self.git("commit-tree", prepared.tree, "-m", "base", cwd=self.work)
        self.git("reset", "-q", "--hard", commit, cwd=self.work)
        self.base = commit

    def take(self, queue: Mapping[str, bytes]) -> list[str]:
        """Paths of the patch files."""
        paths = []
        for number, data in enumerate(queue.values()):
            paths.append(str(self.folder / f"{number:04}.patch"))
            Path(paths[-1]).write_bytes(data)
        return paths

    def git(self, *words: str, cwd: Path | None = None, **env: str) -> str:
        options = ("-c", "core.compression=1", "-c", "gc.auto=0", "-c", "core.fsync=none")
        done = subprocess.run(
            ["git", *options, *words],
            cwd=cwd,
            env=QUIET | env,
            check=True,
            capture_output=True,
        )
        return done.stdout.decode().strip()

    def apply(self, paths: Sequence[str]) -> str:
        """One process takes all patches, another writes the tree."""
        mine = self.folder / "index.mine"
        shutil.copyfile(self.index, mine)
        env = {"GIT_DIR": str(self.bare), "GIT_INDEX_FILE": str(mine)}
        self.git("apply", "--cached", "--whitespace=nowarn", *paths, **env)
        return self.git("write-tree", **env)

    def am(self, paths: Sequence[str]) -> str:
        self.git("am", "-q", "--keep-cr", *paths, cwd=self.work)
        return self.git("rev-parse", "HEAD^{tree}", cwd=self.work)

    def afresh(self) -> None:
        """Objects that are there already would not be written again."""
        self.git("reset", "-q", "--hard", self.base, cwd=self.work)
        for objects in (self.bare / "objects", self.work / ".git/objects"):
            for folder in objects.glob("??"):
                if not self._holds_base(folder):
                    shutil.rmtree(folder)

    def _holds_base(self, folder: Path) -> bool:
        return (folder / self.base[2:]).exists()


def limit(objects: Sequence[bytes], folder: Path) -> None:
    """sha1, zlib (at git's fastest) and the writing of each object, with their headers."""
    for data in objects:
        name = sha1(data, usedforsecurity=False).hexdigest()
        place = folder / name[:2]
        place.mkdir(exist_ok=True)
        (place / name[2:]).write_bytes(zlib.compress(data, 1))


def new_objects(scratch: Scratch, tree: str) -> list[bytes]:
    """What the tree has and the base has not: read back from where git wrote it."""
    names = [f"{path.parent.name}{path.name}" for path in (scratch.bare / "objects").glob("??/*")]
    return [zlib.decompress((scratch.bare / "objects" / name[:2] / name[2:]).read_bytes()) for name in names]


def clock() -> float:
    return time.perf_counter()


def processor() -> float:
    """Seconds of this process and of the children that have ended."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


@dataclass(frozen=True)
class Measure:
    rounds: int
    now: Callable[[], float]

    def medians(self, contestants: Mapping[str, Callable[[], object]], before: Callable[[], None]) -> dict[str, float]:
        """Milliseconds."""
        times: dict[str, list[float]] = {name: [] for name in contestants}
        for _ in range(self.rounds):
            for name, run in contestants.items():
                before()
                gc.collect()
                began = self.now()
                run()
                times[name].append(self.now() - began)
        return {name: statistics.median(each) * 1000 for name, each in times.items()}


def closed_subsets(walk: Walk, seed: str) -> list[frozenset[PatchName]]:
    draw = Draw(f"subsets {seed}")
    picks = ([patch.name for patch in walk.patches if draw.below(2)] for _ in range(SUBSETS))
    return [closure(walk.needs, pick) for pick in picks]


@dataclass(frozen=True)
class Row:
    """`most`: the ratio that is promised, if one is."""

    what: str
    ms: float
    of: str
    ratio: float
    most: float | None = None

    @property
    def missed(self) -> bool:
        return self.most is not None and self.ratio > self.most

    def __str__(self) -> str:
        promised = f"{self.most:.2f}{'  MISSED' if self.missed else ''}" if self.most else "-"
        return f"| {self.what:46} | {self.ms:8.1f} | {self.of:24} | {self.ratio:6.3f} | {promised:12} |"


def whole(prepared: Prepared, scratch: Scratch, measure: Measure) -> list[Row]:
    """The rows of a full queue; of the shortest one the graph too."""
    count = len(prepared.queue)
    paths = scratch.take(prepared.queue)
    scratch.afresh()
    tree = scratch.apply(paths)
    objects = new_objects(scratch, tree)
    memo = prepared.memo(prepared.walk())
    planned = memo.plan(prepared.walk().patches)
    assert isinstance(planned, Planned), planned
    assert planned.tree == tree == scratch.am(paths)
    folder = scratch.folder / "limit"

    def engine() -> None:
        walk = prepared.walk()
        fresh = prepared.memo(walk)
        fresh.__dict__["_trees"] = memo._trees  # prepared, as git's index is
        fresh.plan(walk.patches)

    def graph() -> None:
        walk = prepared.walk()
        drawn(Graph("", tuple(patch.name for patch in walk.patches), walk.needs))
        hints(walk.patches, walk.state)

    def before() -> None:
        scratch.afresh()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    contestants = {
        "am": lambda: scratch.am(paths),
        "apply": lambda: scratch.apply(paths),
        "limit": lambda: limit(objects, folder),
        "A": engine,
        "graph": graph,
    }
    ms = measure.medians(contestants, before)
    size = sum(map(len, objects)) / 2**20
    return [
        Row(f"{count} patches: git am", ms["am"], "git am", 1.0),
        Row(f"{count} patches: one git apply --cached", ms["apply"], "git am", ms["apply"] / ms["am"]),
        Row(
            f"{count} patches: limit ({len(objects)} objects, {size:.1f} MiB)",
            ms["limit"],
            "git am",
            ms["limit"] / ms["am"],
        ),
        Row(f"{count} patches: engine A", ms["A"], "git am", ms["A"] / ms["am"], 0.15),
        Row(f"{count} patches: engine A", ms["A"], "one git apply --cached", ms["A"] / ms["apply"], 1.0),
        Row(f"{count} patches: engine A", ms["A"], "limit", ms["A"] / ms["limit"], 2.0),
        Row(f"{count} patches: patches graph", ms["graph"], "git am", ms["graph"] / ms["am"], 0.3),
    ]


def subsets(prepared: Prepared, scratch: Scratch, measure: Measure, seed: str) -> list[Row]:
    paths = dict(zip(prepared.queue, scratch.take(prepared.queue), strict=True))
    walk = prepared.walk()
    chosen = closed_subsets(walk, seed)

    def engine() -> list[str]:
        """From the bytes of the patches to the ids of all subsets."""
        fresh = prepared.walk()
        memo = prepared.memo(fresh)
        plans = [memo.plan([patch for patch in fresh.patches if patch.name in names]) for names in chosen]
        return [plan.tree if isinstance(plan, Planned) else str(plan) for plan in plans]

    def git() -> list[str]:
        return [scratch.apply([path for name, path in paths.items() if name in names]) for names in chosen]

    assert engine() == git()
    ms = measure.medians({"A": engine, "git": git}, scratch.afresh)
    mean = sum(map(len, chosen)) / len(chosen)
    each = {name: time / len(chosen) for name, time in ms.items()}
    return [
        Row(
            f"a closed subset of {len(walk.patches)} (mean {mean:.1f}): one apply",
            each["git"],
            "one apply a subset",
            1.0,
        ),
        Row("a closed subset: engine A, all told", each["A"], "one apply a subset", each["A"] / each["git"], 0.2),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default="60,300")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--cpu", action="store_true")
    words = parser.parse_args()
    measure = Measure(words.rounds, processor if words.cpu else clock)
    ports = App().ports
    tree = fetch_base(ports, SGLANG)
    listing = {entry.path: (entry.mode, entry.blob) for entry in ports.git.list(tree)}
    files = ports.git.read(
        tree, [path for path, (mode, _) in listing.items() if path.endswith(".py") and mode == "100644"]
    )
    counts = [int(word) for word in words.counts.split(",")]
    rows = []
    with tempfile.TemporaryDirectory(prefix="patches-table-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        prepared = Prepared(ports, tree, listing, {})
        scratch = Scratch(Path(folder), prepared, f"{ports.files.home()}/store.git")
        for count in counts:
            prepared = Prepared(ports, tree, listing, synthetic(files, count, words.seed))
            rows += whole(prepared, scratch, measure)
            if count == counts[0]:
                rows += subsets(prepared, scratch, measure, words.seed)
    title = f"sglang 0.5.15, {len(listing)} files"
    print(f"| {title:46} | {'CPU ms' if words.cpu else 'ms':>8} | {'against':24} | {'ratio':6} | {'at most':12} |")
    print(f"|{'-' * 48}|{'-' * 9}:|{'-' * 26}|{'-' * 7}:|{'-' * 14}|")
    print(*rows, sep="\n")
    return 1 if any(row.missed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
