"""What a base says that it asks for."""

from __future__ import annotations

import pytest

from stackctl.core.base.requires import asked_for, requires_of_project, requires_of_wheel
from tests.core.base.test_wheel import wheel

METADATA = b"""Metadata-Version: 2.1
Name: pkg
Requires-Dist: Torch==2.11.0
Requires-Dist: torchao==0.17.0; sys_platform != "win32"
Requires-Dist: torch<2; extra == "old"

Requires-Dist: torch==9 is prose
"""


def test_a_wheel_says_it_in_its_metadata() -> None:
    lines = requires_of_wheel(wheel(("pkg-1.dist-info/METADATA", METADATA, 0), ("pkg/__init__.py", b"", 0)))
    assert lines == ("Torch==2.11.0", 'torchao==0.17.0; sys_platform != "win32"', 'torch<2; extra == "old"')
    assert str(asked_for(lines, "torch")) == "==2.11.0"
    assert asked_for(lines, "numpy") is None
    assert requires_of_wheel(wheel(("pkg/x.dist-info/METADATA", METADATA, 0))) == ()
    assert requires_of_wheel(b"no zip") == ()


def test_a_checkout_says_it_in_its_project_file() -> None:
    lines = requires_of_project(b'[project]\ndependencies = ["torch>=2.8", "torch<3", "not a ==", "torch"]\n')
    assert str(asked_for(lines, "torch")) == "<3,>=2.8"
    assert asked_for(["torch"], "torch") is None


@pytest.mark.parametrize("data", [b"", b"[project", b"\xff", b"project = 3", b"[project]\ndependencies = 3"])
def test_a_project_file_that_says_nothing(data: bytes) -> None:
    assert requires_of_project(data) == ()
