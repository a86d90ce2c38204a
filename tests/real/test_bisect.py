"""One bisect on the real engine: a dozen patches and four flags, one of the patches a planted fault."""

from __future__ import annotations

import json

import pytest

from tests.real.conftest import Cli

pytestmark = [pytest.mark.real, pytest.mark.timeout(2400)]


@pytest.mark.parametrize("stack", ["cpu-bad"], indirect=True)
def test_the_bisect_names_the_planted_fault(cli: Cli, stack: str) -> None:
    done = cli.run("bisect", stack, "--test", "c60-toolcalls", "--new", "--json", "--yes", timeout=2300)
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert report["kind"] == "CONFIRMED"
    assert report["culprit"] == ["patch:cpu/detokenizer-by-length"]
