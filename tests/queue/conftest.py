"""Trees and an interpreter for the tests of real patches: composed by stackctl itself, as a deploy does it.

`just test-queue` makes the interpreter from stacks/cpu/requirements.txt (STACKCTL_QUEUE=make); a plain pytest run uses
it when it is there and skips these tests when it is not. STACKCTL_QUEUE_PYTHON names another one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from stackctl.commands.environment import environment_spec
from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.tree import compose, queue_of
from stackctl.core.names import PatchName
from stackctl.core.stack.resolved import ResolvedStack, Variant
from stackctl.onhost import environment as maker
from stackctl.ports import Ports
from stackctl.wiring import real_ports

ROOT = Path(__file__).resolve().parents[2]
STACK = str(ROOT / "stacks" / "cpu.yaml")
BUILD = 3000.0  # seconds; torch may have to come over the network


class Quiet:
    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        yield

    def say(self, text: str) -> None:
        pass

    def live(self, text: str) -> None:
        pass


@pytest.fixture(scope="session")
def ports() -> Ports:
    return real_ports(Quiet())


@pytest.fixture(scope="session")
def stack(ports: Ports) -> ResolvedStack:
    return load(ports, Selection(stack=STACK))


@pytest.fixture(scope="session")
def interpreter(ports: Ports, stack: ResolvedStack) -> str:
    """Of an environment that is whole; made now only when asked to."""
    if named := os.environ.get("STACKCTL_QUEUE_PYTHON"):
        return named
    spec = environment_spec(ports, stack)
    assert spec is not None
    folder = Path(ports.files.home(), "environments", spec.key)
    if maker.record(folder) is None:
        if os.environ.get("STACKCTL_QUEUE") != "make":
            pytest.skip(f"the environment {spec.key} is not made yet: `just test-queue` makes it")
        wanted = {"do": "build", "dir": str(folder), "python": spec.python, "locked": spec.locked, "free": spec.free}
        argv = [sys.executable, "-B", str(maker.__file__), json.dumps(wanted)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=BUILD)
        assert json.loads(done.stdout) == {"ok": True}, done.stdout + done.stderr
    return str(folder / "bin" / "python")


@pytest.fixture(scope="session")
def tree(ports: Ports, stack: ResolvedStack, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`tree("sm120/prefill-dispatch")`: the base with exactly that patch and what it needs; `tree()`: the base."""
    made: dict[tuple[PatchName, ...], Path] = {}

    def of(*names: str) -> Path:
        wanted = closure(ports, stack, names)
        if wanted not in made:
            made[wanted] = tmp_path_factory.mktemp("tree")
            composed = compose(ports, queue(stack, wanted))[1].tree
            paths = [entry.path for entry in ports.git.list(composed)]
            for path, data in ports.git.read(composed, paths).items():
                file = made[wanted] / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        return made[wanted]

    return of


def queue(stack: ResolvedStack, names: Sequence[PatchName]) -> ResolvedStack:
    files = {name: str(ROOT / "patches" / f"{name}.patch") for name in names}
    return replace(stack, patches=tuple(names), patch_files=files, variant=Variant())


def closure(ports: Ports, stack: ResolvedStack, names: Sequence[str]) -> tuple[PatchName, ...]:
    """The names and all that they need. A patch that the stack's queue lacks is looked at behind it."""
    if not names:
        return ()
    all_names = tuple(dict.fromkeys([*stack.patches, *map(PatchName, names)]))
    needs = queue_of(ports, queue(stack, all_names)).needs
    wanted = set(map(PatchName, names))
    while more := {need.needs for need in needs if need.patch in wanted} - wanted:
        wanted |= more
    return tuple(name for name in all_names if name in wanted)
