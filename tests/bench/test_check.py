"""What a check of prod costs against a base and a table that are kept: CPU of the whole command, git's included.

Needs the base in the store. The best of several runs counts: what others do on the machine only adds.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNS = 15  # at most
LIMIT = 1.0  # seconds

pytestmark = [pytest.mark.slow, pytest.mark.net]


def spent(environment: dict[str, str]) -> float:
    """Seconds of CPU of one run and of all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    argv = [sys.executable, "-m", "stackctl", "check", "prod"]
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout + done.stderr
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def test_a_check_of_prod_costs_less_than_a_second_of_cpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bytecode = {"PYTHONPYCACHEPREFIX": str(tmp_path)}  # as an installed package has it
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | bytecode
    spent(environment)  # the base, the table and the bytecode are there afterwards
    best = spent(environment)
    for _ in range(RUNS - 1):
        if best > LIMIT:
            best = min(best, spent(environment))
    with capsys.disabled():
        print(f"\ncheck prod: {best:.2f} s of CPU, limit {LIMIT:.1f} s")
    assert best <= LIMIT
