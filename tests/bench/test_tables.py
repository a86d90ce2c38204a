"""What it costs to read a table from a real tree, beside parsing the same files, and to read a kept one.

CPU is what counts, of this process and of git; a machine that is busy with something else changes little.
"""

from __future__ import annotations

import ast
import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stackctl.app import App
from stackctl.commands.base import fetch_base, pin_release
from stackctl.commands.linting.tables import upstream_of
from stackctl.core.names import TreeId
from stackctl.core.upstream.tables import needed
from stackctl.ports import Ports
from tests.fakes import LocalFilesAt

pytestmark = [pytest.mark.slow, pytest.mark.net]
FIRST, KEPT = 5.0, 0.05  # seconds of CPU
SHARE = 0.5  # of what parsing every needed file costs


def cost(work: Callable[[], object]) -> float:
    def spent() -> float:
        both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(one.ru_utime + one.ru_stime for one in both)

    began = spent()
    work()
    return spent() - began


@pytest.fixture(scope="module")
def ports() -> Ports:
    return App().ports


@pytest.mark.parametrize("version", ["0.5.15", "0.5.23"])
def test_reading_a_table(version: str, ports: Ports, tmp_path: Path) -> None:
    tree = fetch_base(ports, pin_release(ports, f"sglang=={version}"))
    here = replace(ports, files=LocalFilesAt(tmp_path, tmp_path))
    first = cost(lambda: upstream_of(here, tree))
    kept = min(cost(lambda: upstream_of(here, tree)) for _ in range(3))
    parsing = cost(lambda: parsed(ports, tree))
    print(f"\n{version}: first {first:.2f} s, kept {kept * 1000:.0f} ms, parsing all of it {parsing:.2f} s")
    assert first <= FIRST
    assert first <= SHARE * parsing
    assert kept <= KEPT


def parsed(ports: Ports, tree: TreeId) -> None:
    """The peer: every file that is needed, read from the store and parsed."""
    blobs = {entry.path: entry.blob for entry in ports.git.list(tree) if entry.path.endswith(".py")}
    wanted = [blobs[path] for path in needed(blobs, "sglang.launch_server")]
    for data in ports.git.read_blobs(wanted).values():
        ast.parse(data)
