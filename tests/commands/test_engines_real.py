"""Both engines on the queue of stacks/cpu.yaml, over the real base: needs that base in the store."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from stackctl.app import App
from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.commands.tree import Read, data_for_git, judge, read_queue
from stackctl.core.names import SGLANG, PatchName, TreeId
from stackctl.core.patches.depend import closure
from stackctl.core.patches.memo import ForGit, Planned
from stackctl.core.patches.values import Patch
from stackctl.ports import Ports
from tests.engines import rightly_refused

pytestmark = [pytest.mark.slow, pytest.mark.net]
STACK = str(Path(__file__).parents[2] / "stacks" / "cpu.yaml")


@pytest.fixture(scope="module")
def ports() -> Ports:
    return App().ports


@pytest.fixture(scope="module")
def read(ports: Ports) -> Read:
    return read_queue(ports, load(ports, Selection(STACK))).parts[SGLANG]


def drawn(read: Read, number: int) -> set[PatchName]:
    """Every other patch or so, by a draw that is the same in every run."""
    return {patch.name for patch in read.queue.patches if sha256(f"{number}{patch.name}".encode()).digest()[0] & 1}


def in_order(read: Read, names: set[PatchName] | frozenset[PatchName]) -> list[Patch]:
    return [patch for patch in read.queue.patches if patch.name in names]


def made_by_git(ports: Ports, read: Read, patches: list[Patch]) -> TreeId | None:
    walk = judge(read, patches)
    if walk.faults:
        applied = ports.git.apply(read.queue.base, [(patch.data, patch.strip) for patch in patches])
        assert rightly_refused(applied, read.base, read.walk, patches)
        return None
    return ports.git.apply(read.queue.base, [(data_for_git(p, walk.landings), p.strip) for p in patches]).tree


def agreed(ports: Ports, read: Read, patches: list[Patch]) -> bool:
    """Whether engine A has planned it; then git has made the same, and refused what A refused."""
    plan = read.memo.plan(patches)
    if isinstance(plan, ForGit):
        return False
    assert (plan.tree if isinstance(plan, Planned) else None) == made_by_git(ports, read, patches)
    return isinstance(plan, Planned)


def test_the_whole_queue(ports: Ports, read: Read) -> None:
    assert agreed(ports, read, list(read.queue.patches))


@pytest.mark.parametrize("number", range(6))
def test_closed_subsets(ports: Ports, read: Read, number: int) -> None:
    assert agreed(ports, read, in_order(read, closure(read.queue.needs, drawn(read, number))))


def test_subsets_that_are_not_closed(ports: Ports, read: Read) -> None:
    needs = read.queue.needs
    assert needs
    for need in needs:
        names = closure(needs, [need.patch]) - {need.needs}
        lost = [each for each in needs if each.patch in names and each.needs not in names]
        # only a header tells of a declared need, and the diffs do not miss it
        assert agreed(ports, read, in_order(read, names)) == all(each.reason == "declared" for each in lost)
