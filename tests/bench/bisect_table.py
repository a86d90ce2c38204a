"""The acceptance table of the bisect, by simulation: mean runs and wrong verdicts for each world, against the limits.

Fixed seeds, no server. Each row: N patches and 6 flags, p, q, what is to blame; the limits are mean runs of the search
(the preflight's and the confirmation's are not part of them) and 5 % wrong. The search ends at .97, or .95 with p and
q given, and the base counts as checked before. Prints a line a row and exits 1 when one is missed.

    python tests/bench/bisect_table.py [--trials 500] [--rows 8,20] [--gates]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from stackctl.core.bisect.posterior import Model
from tests.core.bisect.simulate import Told, World, known, trial

BASE_CHECKED = 0.03


@dataclass(frozen=True)
class Row:
    """`most`: mean runs with p and q unknown; `most_given`: with both given."""

    world: World
    most: float
    most_given: float


ROWS = tuple(
    Row(World(patches, 6, truth, p, 0.02), most, given)
    for patches, p, truth, most, given in (
        (8, 0.6, "single", 17, 14),
        (8, 0.6, "patch-flag", 42, 25),
        (20, 1.0, "single", 9, 7),
        (20, 1.0, "patch-flag", 18, 10),
        (20, 0.6, "single", 21, 18),
        (20, 0.6, "patch-flag", 44, 29),
        (20, 0.3, "single", 63, 48),
        (20, 0.3, "patch-flag", 130, 79),
        (60, 0.6, "single", 26, 23),
        (60, 0.6, "patch-flag", 49, 34),
        (60, 0.3, "single", 74, 63),
        (60, 0.3, "patch-flag", 150, 90),
    )
)


@dataclass(frozen=True)
class Job:
    world: World
    seed: int
    given: bool = False
    base_mass: float = BASE_CHECKED
    confirm: bool = False
    min_rate: float = 0.1  # of the preflight: the rows are about faults that are there


def run(job: Job) -> Told:
    model = Model(known(min(job.world.p, 0.995)), known(job.world.q)) if job.given else Model()
    stop = 0.95 if job.given else 0.97
    return trial(
        job.world,
        f"t{job.seed}",
        confirm=job.confirm,
        model=model,
        base_mass=job.base_mass,
        stop=stop,
        min_rate=job.min_rate,
    )


def measure(pool: Pool, jobs: Iterable[Job]) -> tuple[float, float, float]:  # type: ignore[valid-type]
    """Mean runs of the search, mean runs of all, share of wrong verdicts."""
    told = pool.map(run, list(jobs), chunksize=4)  # type: ignore[attr-defined]
    count = len(told)
    return (
        sum(t.searched for t in told) / count,
        sum(t.runs for t in told) / count,
        sum(not t.right for t in told) / count,
    )


def table(pool: Pool, trials: int, sizes: set[int]) -> Iterator[bool]:  # type: ignore[valid-type]
    for row in ROWS:
        if row.world.patches not in sizes:
            continue
        for given, most in ((False, row.most), (True, row.most_given)):
            began = time.monotonic()
            searched, whole, wrong = measure(pool, (Job(row.world, seed, given) for seed in range(trials)))
            ok = searched <= most and wrong <= 0.05
            w = row.world
            print(
                f"N={w.patches:2} p={w.p:.1f} q={w.q:.2f} {w.truth:10} {'given' if given else 'unknown':7}  "
                f"{searched:6.1f} runs (most {most:3.0f}; {whole:.1f} with the preflight)  {wrong:5.1%} wrong  "
                f"{'ok' if ok else 'MISSED'}  {time.monotonic() - began:.0f} s",
                flush=True,
            )
            yield ok


def gates(pool: Pool, trials: int) -> Iterator[bool]:  # type: ignore[valid-type]
    """BASE, NEVER FAILS, a q that is wider than thought, and variants that cannot be built."""
    for name, world, mass, confirm, most_runs, most_wrong in (
        ("BASE", World(20, 6, "base", 0.6, 0.02), 0.15, False, 12.0, 0.05),
        ("NEVER FAILS", World(20, 6, "none", 0.6, 0.02), 0.15, True, 30.0, 0.02),
        ("wide q", World(20, 6, "single", 0.6, 0.08), BASE_CHECKED, False, 60.0, 0.08),
        ("10 % unbuildable", World(20, 6, "patch-flag", 0.6, 0.02, 0.1), BASE_CHECKED, True, 70.0, 0.05),
    ):
        jobs = (Job(world, seed, base_mass=mass, confirm=confirm, min_rate=0.5) for seed in range(trials))
        searched, whole, wrong = measure(pool, jobs)
        ok = searched <= most_runs and wrong <= most_wrong
        print(
            f"{name:17} {searched:6.1f} runs (most {most_runs:.0f}; {whole:.1f} in all)  {wrong:5.1%} wrong "
            f"(most {most_wrong:.0%})  {'ok' if ok else 'MISSED'}",
            flush=True,
        )
        yield ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--rows", default="8,20,60", help="numbers of patches")
    parser.add_argument("--gates", action="store_true", help="only the further gates")
    words = parser.parse_args()
    with Pool() as pool:
        results = [] if words.gates else list(table(pool, words.trials, set(map(int, words.rows.split(",")))))
        results += list(gates(pool, words.trials))
    print(f"{sum(results)} of {len(results)} within the limits")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
