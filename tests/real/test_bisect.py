"""One bisect on the real engine. `stackctl bisect cpu-bad`, a dozen patches and four flags, takes ten starts; here the
elements are five, so that all tests of the real engine fit into a CI run. `just demo-real` runs the large one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import ROOT, Cli, processes

pytestmark = [pytest.mark.real, pytest.mark.timeout(2400)]
FEW = """
stack: cpu-few
extends: cpu-bad.yaml
bisect:
  elements:
    patches: [cpu/log-cache-eviction, cpu/idle-poll-bound, cpu/detokenizer-by-length]
    flags: [enable-cache-report, schedule-policy]
"""


@pytest.fixture
def few(cli: Cli, tmp_path: Path) -> Iterator[str]:
    """The stack file of a workspace of its own; stopped in the end, and leaves no process."""
    for name in ("stacks", "patches"):
        shutil.copytree(ROOT / name, tmp_path / name)
    file = tmp_path / "stacks/cpu-few.yaml"
    file.write_text(FEW, encoding="utf-8")
    yield str(file)
    cli.run("stop", str(file), "--no-evidence")
    assert not processes("cpu-few")


def test_the_bisect_names_the_planted_fault(cli: Cli, few: str) -> None:
    done = cli.run("bisect", few, "--test", "c60-toolcalls", "--new", "--json", "--yes", timeout=2300)
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert report["kind"] == "CONFIRMED"
    assert report["culprit"] == ["patch:cpu/detokenizer-by-length"]
