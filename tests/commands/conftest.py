"""What tests of commands share: a workspace whose deployments are real, and gone at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.deployed import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("STACKCTL_HOME", str(tmp_path / "store"))
    made = World(tmp_path / "workspace", home)
    yield made
    made.end()
