"""Trees and an interpreter for the tests of real patches: composed by stackctl itself, as a deploy does it.

`just test-queue` makes the interpreter from stacks/cpu/requirements.txt (STACKCTL_QUEUE=make); a plain pytest run uses
it when it is there and skips these tests when it is not. STACKCTL_QUEUE_PYTHON names another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from stackctl.commands.environment import engine_python, environment_wanted, make_environment
from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.site import site_of
from stackctl.commands.tree import compose, queue_of
from stackctl.core.names import PatchName
from stackctl.core.stack.resolved import ResolvedStack, Variant
from stackctl.ports import Ports
from stackctl.wiring import real_ports

ROOT = Path(__file__).resolve().parents[2]
STACK = str(ROOT / "stacks" / "cpu.yaml")


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
    with site_of(ports, stack) as site:
        if (wanted := environment_wanted(site)) and os.environ.get("STACKCTL_QUEUE") != "make":
            pytest.skip(f"{wanted}: `just test-queue` does it")
        make_environment(site)
        return engine_python(site)


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
