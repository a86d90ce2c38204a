"""stackctl on the real sglang, as a user types it. `just test-real` runs these; a plain pytest run leaves them out.

The environment is the one of stacks/cpu.yaml, in the user's $STACKCTL_HOME: made by the first deploy, kept for the
next run. Releases go where they always go; every test stops what it started.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SLOW = 1800.0  # seconds: the first deploy makes the environment


class Cli:
    """`stackctl …` in this repository."""

    def run(self, *words: str, timeout: float = SLOW) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "stackctl", *words]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=timeout)
        print(f"$ stackctl {' '.join(words)}  -> {done.returncode}\n{done.stdout[-6000:]}{done.stderr[-3000:]}")
        return done

    def ok(self, *words: str, timeout: float = SLOW) -> str:
        done = self.run(*words, timeout=timeout)
        assert done.returncode == 0, f"stackctl {' '.join(words)}"
        return done.stdout

    def report(self, test: str, stack: str, *more: str, code: int) -> dict[str, Any]:
        """The report of a test that must end with `code`."""
        done = self.run("test", test, stack, *more, "--json")
        assert done.returncode == code, f"stackctl test {test} {stack} {' '.join(more)}"
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def processes(stack: str) -> Sequence[int]:
    """Living processes that carry the stack's name in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environ = (folder / "environ").read_bytes()
            except OSError:
                continue
            if f"STACKCTL_STACK={stack}".encode() in environ.split(b"\0"):
                found.append(int(folder.name))
    return found


@pytest.fixture(scope="session")
def cli() -> Cli:
    return Cli()


@pytest.fixture(scope="session", params=["cpu"])
def stack(request: pytest.FixtureRequest, cli: Cli) -> Iterator[str]:
    """A stack that is stopped when the last test of it is done, and leaves no process; never two at once."""
    name: str = request.param
    yield name
    cli.run("stop", name, "--no-evidence")
    assert not processes(name)
